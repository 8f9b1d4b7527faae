/**
 * Named places in the batch protocol where the crash tests kill or freeze a runner. Each is reached by at least one
 * test, or the suite fails. Outside the tests a failpoint is one comparison with null.
 */
export const FAILPOINTS = [
  'run.claimed',
  'run.prepared',
  'fence.taken',
  'pass.collected',
  'batch.written',
  'batch.begun',
  'batch.staged',
  'batch.merged',
  'checkpoint.moved',
  'lease.renewed',
  'batch.committed',
  'replace.merged',
  'sweep.deleted',
  'part.claimed',
  'part.read',
  'part.sent',
  'part.written',
  'part.committed',
  'parts.finishing',
  'run.finishing',
] as const
export type Failpoint = (typeof FAILPOINTS)[number]

/** The same in the captor, which is not part of a run: after decoding, and between the log and its acknowledgement. */
export const CAPTURE_FAILPOINTS = ['capture.decoded', 'capture.logged'] as const
export type CaptureFailpoint = (typeof CAPTURE_FAILPOINTS)[number]

/** The same around the decision which followers run, and after the end of a run. */
export const ORDER_FAILPOINTS = ['run.finished', 'order.deciding', 'order.requested'] as const
export type OrderFailpoint = (typeof ORDER_FAILPOINTS)[number]
/** The same around the results of checks: after a failed batch was rolled back, and after its results were stored. */
export const CHECK_FAILPOINTS = ['checks.failed', 'checks.recorded'] as const
export type CheckFailpoint = (typeof CHECK_FAILPOINTS)[number]

/** `name`, or `name@3` for the third time, with `=kill` (SIGKILL) or `=freeze` (SIGSTOP). */
const armed = parse(process.env.VITRINA_FAILPOINT)
let passed = 0

/** The same before a group is published: every member is computed. */
export const GROUP_FAILPOINTS = ['group.computed'] as const
export type GroupFailpoint = (typeof GROUP_FAILPOINTS)[number]

export function failpoint(
  name: Failpoint | CaptureFailpoint | OrderFailpoint | CheckFailpoint | GroupFailpoint,
): void {
  if (armed === null || armed.name !== name) return
  passed += 1
  if (passed === armed.count) process.kill(process.pid, armed.signal)
}

function parse(
  text: string | undefined,
): { name: string; count: number; signal: 'SIGKILL' | 'SIGSTOP' } | null {
  const found = /^([a-z.]+)(?:@(\d+))?=(kill|freeze)$/.exec(text ?? '')
  if (found === null) return null
  return {
    name: found[1]!,
    count: Number(found[2] ?? 1),
    signal: found[3] === 'kill' ? 'SIGKILL' : 'SIGSTOP',
  }
}
