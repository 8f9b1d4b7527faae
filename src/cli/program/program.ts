import { Command } from 'commander'
import { VERSION } from '../../main/paths.js'
import { addApi } from '../api.js'
import { addApply } from '../apply.js'
import { addAudit } from '../audit.js'
import { addChecks } from '../checks.js'
import { addCompletion } from '../completion.js'
import { addContext } from '../context.js'
import { addDemo } from '../demo.js'
import { addDiff } from '../diff.js'
import { addDoctor } from '../doctor.js'
import { addExport } from '../export.js'
import { addGenerate } from '../generate.js'
import { addGraph } from '../graph.js'
import { addLineage } from '../lineage.js'
import { addMigrate } from '../migrate.js'
import { addNotifications } from '../notifications.js'
import { addPipelines } from '../pipelines/index.js'
import { addQuarantine } from '../quarantine.js'
import { addRunner } from '../runner.js'
import { addRunners } from '../runners.js'
import { addRuns } from '../runs.js'
import { addSchema } from '../schema.js'
import { addSessions } from '../sessions.js'
import { addSources } from '../sources.js'
import { addTasks } from '../tasks.js'
import { addTokens } from '../tokens.js'
import { addUp } from '../up.js'

/** Every command, in the order in which a new user needs them. */
const GROUPS = {
  'Start:': [addUp, addApi, addRunner, addMigrate, addDoctor, addDemo, addGenerate],
  'Work with a server:': [
    addPipelines,
    addRuns,
    addQuarantine,
    addLineage,
    addGraph,
    addTasks,
    addRunners,
    addSources,
    addChecks,
    addNotifications,
    addTokens,
    addSessions,
    addAudit,
    addContext,
  ],
  'Configuration as code:': [addDiff, addApply, addExport, addSchema],
  'Shell:': [addCompletion],
}

export function createProgram(): Command {
  const program = new Command('vitrina')
    .description('Configuration-driven ETL: marts in PostgreSQL and beyond.')
    .version(VERSION)
    .showHelpAfterError('(run vitrina --help to see all commands)')
    .exitOverride()
    .addHelpText(
      'after',
      '\nSettings come from the environment and from .env; docs/reference/settings.md lists them.\nExit codes: 0 success, 1 failure, 2 invalid usage. Results go to stdout, everything else to stderr.',
    )
  for (const [title, adds] of Object.entries(GROUPS)) {
    program.commandsGroup(title)
    for (const add of adds) add(program)
  }
  return program
}
