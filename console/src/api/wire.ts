import type { components, paths } from '../../../src/client/api-types.js'

type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]
type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never
type Get<P extends keyof paths> = paths[P] extends { get: { responses: { 200: infer Answer } } }
  ? Json<Answer>
  : never

export type { paths }

/** Types of the API responses under the names used in the console. Derived from the generated types. */
export type Session = Schema<'Session'>
export type Role = Session['role']
export type Overview = Get<'/pipelines/overview'>
export type PipelineLine = Schema<'PipelineLine'>
export type FleetSummary = Schema<'FleetSummary'>
export type ActiveRun = NonNullable<PipelineLine['current_run']>
export type EndedRun = NonNullable<PipelineLine['last_run']>
export type RunBar = PipelineLine['recent'][number]
export type RunStatus = RunBar['status']
export type PipelineStatus = PipelineLine['status']
/** An event as GET /events sends it. */
export type Freshness = Schema<'Freshness'>
export type LiveEvent = Schema<'LiveEvent'>
export type MartRows = Schema<'MartRows'>
export type MartProfile = Schema<'MartProfile'>
export type MartColumnProfile = MartProfile['columns'][number]
export type SuggestedCheck = MartProfile['suggested_checks'][number]
export type Comparison = Schema<'Comparison'>
export type Run = Schema<'Run'>
export type RunPage = Get<'/runs'>
export type RunDetail = Get<'/runs/{id}'>
export type Batch = Schema<'Batch'>
export type Part = Schema<'Part'>
export type LogLine = Schema<'LogLine'>
export type Runner = Get<'/runners'>['items'][number]
export type Source = Get<'/sources'>['items'][number]
export type ConnectionCheck = Get<'/connections'>
export type Connection = Schema<'Connection'>
export type Token = Schema<'Token'>
export type NotificationRule = Schema<'NotificationRule'>
export type NotificationRuleInput = Schema<'NotificationRuleInput'>
export type NotificationRuleChange = Schema<'NotificationRuleChange'>
export type NotificationChannel = Schema<'NotificationChannel'>
export type NotificationTest = Schema<'NotificationTest'>
export type DeadNotification = Schema<'DeadNotification'>
export type BrowserSession = Schema<'BrowserSession'>
export type AuditPage = Get<'/audit'>
export type AuditEntry = AuditPage['items'][number]
export type About = Get<'/about'>
export type Setting = Get<'/settings'>['items'][number]
export type Readiness = Get<'/health/ready'>

type Post<P extends keyof paths> = paths[P] extends { post: { responses: { 200: infer Answer } } }
  ? Json<Answer>
  : never

export type Pipeline = Schema<'Pipeline'>
export type PipelinePatch = Schema<'PipelinePatch'>
export type PipelineVersion = Schema<'PipelineVersion'>
export type QuarantinedRow = Schema<'QuarantinedRow'>
export type QuarantineStatus = QuarantinedRow['status']
export type QuarantinePage = Get<'/quarantine'>
export type SettledRows = Schema<'SettledRows'>
export type CheckState = Schema<'CheckState'>
export type CheckPage = Get<'/checks'>
export type Checkpoint = Schema<'State'>
export type PipelineRun = Schema<'Run'>
export type Validation = Post<'/validate'>
export type Finding = Validation['errors'][number]
export type Preview = Post<'/preview'>
export type Reconciliation = Get<'/pipelines/{id}/reconcile'>
type Edited = paths['/pipelines/{id}'] extends { patch: { responses: { 200: infer Answer } } }
  ? Json<Answer>
  : never
/** The effect of a change before it is made. */
export type DryRun = NonNullable<Edited['dry_run']>
export type PipelineInput = Schema<'PipelineInput'>
export type OrderGraph = Get<'/graph'>
export type OrderNode = OrderGraph['nodes'][number]
export type LineageGraph = Get<'/lineage'>
export type LineageNode = LineageGraph['nodes'][number]
export type LineageColumn = NonNullable<LineageNode['columns']>[number]
export type SourceTables = Get<'/catalog/tables'>
export type TaskList = Get<'/tasks'>
export type ComingRuns = Get<'/schedule/runs'>
