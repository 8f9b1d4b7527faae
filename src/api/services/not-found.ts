import { type ErrorCode, VitrinaError } from '../../model/errors.js'

const SEARCHES = {
  PIPELINE_NOT_FOUND: ['pipeline', 'List the pipelines with GET /api/v1/pipelines.'],
  RUN_NOT_FOUND: ['run', 'List the runs with GET /api/v1/runs.'],
  VERSION_NOT_FOUND: ['version', 'List the versions with GET /api/v1/pipelines/{id}/versions.'],
  QUARANTINE_NOT_FOUND: ['quarantined row', 'List the rows with GET /api/v1/pipelines/{id}/quarantine.'],
  LINEAGE_NOT_FOUND: ['node', 'List the nodes with GET /api/v1/lineage, or use pipeline:<name>.'],
  NOTIFICATION_NOT_FOUND: ['notification rule', 'List the rules with GET /api/v1/notifications.'],
  MESSAGE_NOT_FOUND: [
    'undelivered notification',
    'List undelivered notifications with GET /api/v1/notifications/dead.',
  ],
  TOKEN_NOT_FOUND: ['token', 'List the tokens with GET /api/v1/tokens.'],
  SESSION_NOT_FOUND: ['session', 'List the sessions with GET /api/v1/sessions.'],
} as const satisfies Partial<Record<ErrorCode, readonly [string, string]>>

export function notFound(code: keyof typeof SEARCHES, id: string): VitrinaError {
  const [what, hint] = SEARCHES[code]
  return new VitrinaError(code, `The ${what} ${id.slice(0, 100)} does not exist.`, hint)
}
