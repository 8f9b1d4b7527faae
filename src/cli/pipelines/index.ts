import type { Command } from 'commander'
import { group } from '../program/command.js'
import { addControl } from './control.js'
import { addCreate } from './create.js'
import { addGet } from './get.js'
import { addList } from './list.js'
import { addPreview } from './preview.js'
import { addProfile } from './profile.js'
import { addReconcile } from './reconcile.js'
import { addReset } from './reset.js'
import { addRows } from './rows.js'
import { addRun } from './run.js'
import { addPipelineRuns } from './runs.js'
import { addStatus } from './status.js'
import { addUpdate } from './update.js'
import { addValidate } from './validate.js'
import { addVersions } from './versions.js'

export function addPipelines(program: Command): void {
  const pipelines = group(program, 'pipelines', 'Manage and run pipelines.')
  for (const add of [
    addList,
    addGet,
    addCreate,
    addUpdate,
    addRun,
    addControl,
    addStatus,
    addPipelineRuns,
    addValidate,
    addPreview,
    addRows,
    addProfile,
    addReconcile,
    addReset,
    addVersions,
  ])
    add(pipelines)
}
