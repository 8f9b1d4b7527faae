import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './document-blocks.js'

const ELSEWHERE = [
  'console/README.md',
  'deploy/pipelines/README.md',
  'python/airflow-provider-vitrina/README.md',
]
const FENCED = /^```[\s\S]*?^```$/gm

/** Every document, written by hand or generated, by its path from the root. */
export function documents(): string[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'))
  const below = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name))
  return [...top, ...below, ...ELSEWHERE].sort()
}

/** Without those that describe their own time: the decisions, and the history. */
export function presentDocuments(): string[] {
  return documents().filter((file) => !file.startsWith('docs/adr/') && file !== 'CHANGELOG.md')
}

export function proseText(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** Without fenced blocks: those are checked by their own test. */
export function proseOf(file: string): string {
  return proseText(file).replace(FENCED, '')
}

/** The inline code of the prose. */
export function codeIn(file: string): string[] {
  return [...proseOf(file).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!)
}
