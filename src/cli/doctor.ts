import type { Command } from 'commander'
import { examine } from '../main/doctor.js'
import type { Finding } from '../main/finding.js'
import { command } from './command.js'
import { bad, dim, good, print, printJson } from './output.js'

const MARKS = { ok: good('✓'), failed: bad('✗'), skipped: dim('–') }

export function addDoctor(program: Command): void {
  command(
    program,
    'doctor',
    'Look at everything Vitrina needs, and say what to mend. Changes nothing.',
    'doctor',
    'doctor --json',
  )
    .option('--json', 'print the findings as JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const findings = await examine()
      const ok = findings.every((finding) => finding.status !== 'failed')
      if (json) printJson({ ok, findings })
      else for (const finding of findings) printFinding(finding)
      if (!ok) process.exitCode = 1
    })
}

function printFinding({ check, status, detail, hint }: Finding): void {
  print(`${MARKS[status]} ${check}: ${detail}`)
  if (hint !== null) print(`  → ${hint}`)
}
