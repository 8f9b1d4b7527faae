import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { createFormat as CreateFormat } from '../../i18n/format.js'
import { type StaleCause, sentencesOf } from './stale-sentences.js'
import type { staleTexts as StaleTexts } from './stale-texts.js'

let staleTexts: typeof StaleTexts
let createFormat: typeof CreateFormat
beforeAll(async () => {
  // The preferences, which the texts depend on, are read in a browser.
  vi.stubGlobal('navigator', { language: 'en' })
  vi.stubGlobal('window', { addEventListener: () => {} })
  vi.stubGlobal('localStorage', { getItem: () => null })
  staleTexts = (await import('./stale-texts.js')).staleTexts
  createFormat = (await import('../../i18n/format.js')).createFormat
})
afterAll(() => void vi.unstubAllGlobals())

/** The codes that the API can return, as its description lists them. */
const openapi = JSON.parse(
  readFileSync(new URL('../../../../docs/reference/openapi.json', import.meta.url), 'utf8'),
)
const CODES: StaleCause['code'][] =
  openapi.components.schemas.Freshness.properties.cause.anyOf[0].properties.code.enum

const FACTS: Partial<StaleCause['facts']> = {
  ...{ since: '2026-07-01T06:04:56.000000Z', runner: 'runner-7', ahead: 3, running: 2, attempt: 2 },
  ...{ error_code: 'VTR-2002', error: 'division by zero', tags: ['gpu', 'large'], connection: 'shop' },
  ...{ runs: 4, limit: 4, side: 'target', pid: 4711, application: 'psql', table: 'analytics.items' },
  ...{ reason: 'an open transaction', seconds: 75, share: 0.8, finished: true },
}

function cause(code: StaleCause['code'], facts: Partial<StaleCause['facts']> = {}): StaleCause {
  return { code, detail: 'of the API', hint: 'of the API', facts: { upstreams: [], root: code, ...facts } }
}

const sentences = (language: 'en' | 'ru', of: StaleCause) =>
  sentencesOf(of, staleTexts[language], createFormat(language, 'UTC'))

describe('the cause of late data', () => {
  it('has its codes from the API', () => {
    expect(CODES).toContain('SLOW_CHECKPOINT')
    expect(Object.keys(staleTexts.en.details).sort()).toEqual([...CODES].sort())
  })

  it.each(CODES)('%s is a sentence in both languages, with and without facts', (code) => {
    for (const facts of [FACTS, {}])
      for (const language of ['en', 'ru'] as const) {
        const { detail, hint } = sentences(language, cause(code, facts))
        for (const text of [staleTexts[language].causes[code], detail, hint]) {
          expect(text.length).toBeGreaterThan(5)
          expect(text).not.toMatch(/undefined|null|NaN|of the API/)
          if (language === 'ru') expect(text).toMatch(/[а-яё]{3}/)
          else expect(text).not.toMatch(/[а-яё]/i)
        }
      }
  })

  it('has the facts of the API', () => {
    expect(sentences('ru', cause('LOCK', FACTS)).detail).toBe(
      'Запуск ждёт блокировки таблицы analytics.items в базе витрины; её держит сеанс 4711 (psql), транзакция которого начата 1 июл. 2026 г., 06:04:56 UTC.',
    )
    expect(sentences('en', cause('SLOW_READ', FACTS)).detail).toBe(
      'The last run took 1m 15s; its batches spend 80% of their time on reading.',
    )
    expect(sentences('ru', cause('QUEUE', FACTS)).detail).toContain(
      'идут 2 запуска, раньше запрошено ещё 3 запуска',
    )
    expect(sentences('ru', cause('FAILED', { ...FACTS, hint: 'Divide by something else.' }))).toEqual({
      detail: 'Последний запуск завершился ошибкой VTR-2002: division by zero',
      hint: 'Divide by something else.',
    })
  })

  it('names every mart between this one and the root', () => {
    const chain = { upstreams: ['names', 'items'] }
    expect(sentences('ru', cause('UPSTREAM', { ...FACTS, ...chain, root: 'PAUSED' })).detail).toMatch(
      /^Он следует за names, данные которого устарели: Он следует за items, данные которого устарели: Он на паузе с 1 июл/,
    )
    expect(sentences('en', cause('UPSTREAM', { ...chain, root: null }))).toEqual({
      detail: 'It follows names, whose data is too old: It follows items, whose data is too old.',
      hint: 'Check the runs of items.',
    })
  })

  it('of a newer server is shown in its words', () => {
    const unknown = cause('NEVER_RUN', { root: 'SOLAR_FLARE' as never })
    expect(sentences('ru', unknown)).toEqual({ detail: 'of the API', hint: 'of the API' })
  })
})
