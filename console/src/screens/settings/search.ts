import type { AuditFilter } from '../../api/audit.js'
import { searchText } from '../../components/search/search-text.js'

/** `/settings/tokens?ended=1`: includes expired and revoked tokens. */
export interface TokensSearch {
  readonly ended?: '1'
}

export function readTokensSearch({ ended }: Record<string, unknown>): TokensSearch {
  return { ended: ended === '1' ? '1' : undefined }
}

/** `/settings/sessions?of=everyone`: sessions of all tokens, for administrators. */
export interface SessionsSearch {
  readonly of?: 'everyone'
}

export function readSessionsSearch({ of }: Record<string, unknown>): SessionsSearch {
  return { of: of === 'everyone' ? 'everyone' : undefined }
}

export const AUDIT_RANGES = ['24h', '7d', '30d', '90d', 'all'] as const
export type AuditRange = (typeof AUDIT_RANGES)[number]
/** The default range. */
export const USUAL_RANGE: AuditRange = '7d'

const HOUR_MS = 3_600_000
const RANGE_MS: Readonly<Record<AuditRange, number | null>> = {
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
  '90d': 90 * 24 * HOUR_MS,
  all: null,
}

/**
 * `/settings/audit?who=&what=&pipeline=&range=`. `entry` and `request` select one entry, or the entries of one request, in
 * any range.
 */
export interface AuditSearch {
  readonly who?: string
  readonly what?: string
  readonly pipeline?: string
  readonly range?: AuditRange
  readonly entry?: string
  readonly request?: string
}

export function readAuditSearch(raw: Record<string, unknown>): AuditSearch {
  return {
    who: searchText(raw.who),
    what: searchText(raw.what),
    pipeline: searchText(raw.pipeline),
    range: AUDIT_RANGES.find((range) => range === raw.range),
    entry: searchText(raw.entry),
    request: searchText(raw.request),
  }
}

export function isSingleEntry({ entry, request }: AuditSearch): boolean {
  return entry !== undefined || request !== undefined
}

export function isFiltered({ who, what, pipeline }: AuditSearch): boolean {
  return who !== undefined || what !== undefined || pipeline !== undefined
}

export function auditFilterOf(search: AuditSearch): AuditFilter {
  const { who, what, pipeline, range = USUAL_RANGE, entry, request } = search
  if (entry !== undefined) return { id: entry }
  if (request !== undefined) return { request_id: request }
  const lastMs = RANGE_MS[range]
  return {
    ...(who === undefined ? {} : { actor: who }),
    ...(what === undefined ? {} : { action: what }),
    ...(pipeline === undefined ? {} : { pipeline_id: pipeline }),
    ...(lastMs === null ? {} : { lastMs }),
  }
}
