import { z } from 'zod'
import type { TransformList } from '../../ports/transforms.js'

const transformWire = z.object({
  name: z.string().describe('The name to use as the body of a task.'),
  language: z.enum(['python', 'typescript']).describe('The language.'),
  signature: z.string().describe('The signature in the code.'),
  doc: z.string().describe('Its docstring or the comment above it; empty if absent.'),
  file: z.string().describe('The file in the folder of tasks, with the line.'),
  adds: z
    .record(z.string(), z.string())
    .describe('Columns that it adds or whose type it changes, with their types.'),
  drops: z.array(z.string()).describe('Columns that it removes.'),
})

const transformProblemWire = z.object({
  file: z.string().describe('The file or the folder.'),
  message: z.string().describe('The problem.'),
})

export const transformListWire = z.object({
  items: z.array(transformWire).describe('Ordered by name.'),
  problems: z.array(transformProblemWire).describe('Files that could not be loaded, duplicate names.'),
})

export function transformListToWire({ items, problems }: TransformList): z.infer<typeof transformListWire> {
  return {
    items: items.map((item) => ({ ...item, adds: { ...item.adds }, drops: [...item.drops] })),
    problems: problems.map((problem) => ({ ...problem })),
  }
}
