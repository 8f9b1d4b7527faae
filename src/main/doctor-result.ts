/** The result of one check of the doctor. */
export interface DoctorResult {
  readonly check: string
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly detail: string
  /** The remedy; null if there is nothing to fix. */
  readonly hint: string | null
}

export function ok(check: string, detail: string): DoctorResult {
  return { check, status: 'ok', detail, hint: null }
}

/** Works, but an operator should know more. */
export function warning(check: string, detail: string): DoctorResult {
  return { check, status: 'warning', detail, hint: null }
}

export function failed(check: string, detail: string, hint: string): DoctorResult {
  return { check, status: 'failed', detail, hint }
}

export function skipped(check: string, detail: string): DoctorResult {
  return { check, status: 'skipped', detail, hint: null }
}
