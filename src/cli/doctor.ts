import type { Command } from 'commander'
import type { DoctorResult } from '../main/doctor-result.js'
import { type FormatFlags, formatOption, isData, jsonOption, printData } from './output/format.js'
import { bad, dim, good, print } from './output/print.js'
import { command } from './program/command.js'

const MARKS = { ok: good('✓'), warning: '!', failed: bad('✗'), skipped: dim('–') }

export function addDoctor(program: Command): void {
  command(program, {
    usage: 'doctor',
    description: 'Check the installation, and show how to fix each problem. Changes nothing.',
    examples: ['doctor', 'doctor --json'],
  })
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(async (flags: FormatFlags) => {
      // Not at the top: every other command would wait for modules that it does not use.
      const { examineInstallation } = await import('../main/doctor.js')
      const results = await examineInstallation()
      const ok = results.every((result) => result.status !== 'failed')
      if (isData(flags)) printData({ ok, findings: results }, flags)
      else for (const result of results) printResult(result)
      if (!ok) process.exitCode = 1
    })
}

function printResult({ check, status, detail, hint }: DoctorResult): void {
  print(`${MARKS[status]} ${check}: ${detail}`)
  if (hint !== null) print(`  → ${hint}`)
}
