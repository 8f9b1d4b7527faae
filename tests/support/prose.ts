import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './document.js'

const ELSEWHERE = [
  'console/README.md',
  'deploy/pipelines/README.md',
  'python/airflow-provider-vitrina/README.md',
]
const FENCED = /^```[\s\S]*?^```$/gm

/** Every document that is written by hand or generated, by its path from the root. */
export function documents(): string[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'))
  const below = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name))
  return [...top, ...below, ...ELSEWHERE].sort()
}

export function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** Without fenced blocks: those are followed by a test of their own. */
export function proseOf(file: string): string {
  return textOf(file).replace(FENCED, '')
}

/** What stands between backticks in the prose. */
export function codeIn(file: string): string[] {
  return [...proseOf(file).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!)
}

/** The commands of a document, in its blocks and in its prose, one a line. */
export function commandsIn(file: string): string[] {
  const blocks = [...textOf(file).matchAll(/^```(?:bash|sh)\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)
  return [...blocks.flatMap((text) => text.replaceAll('\\\n', ' ').split('\n')), ...codeIn(file)]
}
