import type { FilePipeline } from '../../config/pipeline-file.js'
import type { FileMistake } from '../../config/source-text.js'
import { targetIdentity } from '../../model/target.js'
import type { Fields } from '../server/wire.js'
import type { Plan } from './plan.js'
import type { Normalise } from './planned-changes.js'

interface Writer {
  readonly name: string
  readonly target: string
  readonly identity: string
  readonly isShared: boolean
  /** Null: it exists only on the server. */
  readonly file: FilePipeline | null
  readonly isChanged: boolean
}

/**
 * Pipelines that would write to the same target once the plan is applied, unless both allow sharing. The server
 * rejects each of them too, but one by one, after others have already been changed.
 */
export function targetConflicts(
  plan: Plan,
  { prune, normalise }: { readonly prune: boolean; readonly normalise: Normalise },
): FileMistake[] {
  const fromFile = (isChanged: boolean) => (file: FilePipeline) =>
    writerOf(normalise(file.fields), file, isChanged)
  const writers = [
    ...(prune ? [] : plan.extra).map((pipeline) => writerOf(normalise(pipeline), null, false)),
    ...plan.unchanged.map(fromFile(false)),
    ...plan.updates.map(({ file }) => fromFile(true)(file)),
    ...plan.creates.map(fromFile(true)),
  ]
  return writers.flatMap((writer, n) => {
    const other = writers.slice(0, n).find((before) => excludes(before, writer))
    return other === undefined ? [] : [conflict(writer, other)]
  })
}

function writerOf(fields: Fields, file: FilePipeline | null, isChanged: boolean): Writer {
  const tasks = fields.tasks as readonly { target_table: string | null }[]
  const target = tasks.at(-1)?.target_table ?? String(fields.target_table)
  return {
    name: String(fields.name),
    target,
    identity: targetIdentity(target, (fields.target_connection as string | null) ?? null),
    isShared: fields.shared_target === true,
    file,
    isChanged,
  }
}

function excludes(one: Writer, other: Writer): boolean {
  const isNew = one.isChanged || other.isChanged
  return isNew && one.identity === other.identity && !(one.isShared && other.isShared)
}

/** Changed pipelines come last in the list, so that the later of two is always in a file. */
function conflict({ file, target }: Writer, { name }: Writer): FileMistake {
  return {
    place: file!.locate('target_table'),
    message: `target_table: TARGET_TAKEN: pipeline "${name}" also writes to ${target}. Choose another target, or set shared_target: true on both.`,
  }
}
