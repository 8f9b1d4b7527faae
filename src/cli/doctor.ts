import type { Command } from 'commander'
import type { Finding } from '../main/finding.js'
import { command } from './command.js'
import { type FormatFlags, formatOption, isData, jsonOption, printData } from './format.js'
import { bad, dim, good, print } from './output.js'

const MARKS = { ok: good('✓'), warning: '!', failed: bad('✗'), skipped: dim('–') }

export function addDoctor(program: Command): void {
  command(
    program,
    'doctor',
    'Check everything that Vitrina needs, and say what to fix. Changes nothing.',
    'doctor',
    'doctor --json',
  )
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(async (flags: FormatFlags) => {
      // Not at the top: every other command would wait for modules that it does not use.
      const { examine } = await import('../main/doctor.js')
      const findings = await examine()
      const ok = findings.every((finding) => finding.status !== 'failed')
      if (isData(flags)) printData({ ok, findings }, flags)
      else for (const finding of findings) printFinding(finding)
      if (!ok) process.exitCode = 1
    })
}

function printFinding({ check, status, detail, hint }: Finding): void {
  print(`${MARKS[status]} ${check}: ${detail}`)
  if (hint !== null) print(`  → ${hint}`)
}
