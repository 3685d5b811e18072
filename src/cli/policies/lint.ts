// The command `lint`: checks policies and Cypher in files, or those that a project stores.
import packageJson from '../../../package.json' with { type: 'json' }
import type { LintFinding } from '../../language/lint/finding.ts'
import { lint } from '../../language/lint/lint.ts'
import { nearestModel } from '../../language/lint/project-models.ts'
import { toSarif } from '../../language/lint/sarif.ts'
import type { Settings } from '../../settings.ts'
import { UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine, printLines, printNotice } from '../output/print.ts'
import { modelsAround, type NameFlags, readDocuments, readNames, readStoredPolicies } from './language-files.ts'
import { withProjectErrors } from './project-findings.ts'

/** The options of `lint`. */
export interface LintFlags extends NameFlags {
  readonly action: readonly string[]
  /** Warnings too make the command fail. */
  readonly strict: boolean
  readonly json: boolean
  readonly sarif: boolean
}

/** Runs `lint` and sets the exit code of the process. `settings`: reads the settings, which only a project needs. */
export async function lintFiles(settings: () => Settings, paths: readonly string[], flags: LintFlags): Promise<void> {
  if (flags.json && flags.sarif) throw new UsageError(['--json and --sarif exclude each other'])
  if (paths.length === 0 && flags.project === undefined)
    throw new UsageError(['nothing to check: name files or folders, or a project with --project'])
  const documents =
    paths.length > 0 ? readDocuments(paths) : await readStoredPolicies(settings, flags.project ?? '', flags.url)
  const names = await readNames(settings, flags)
  const modelOf = paths.length > 0 ? modelsAround() : nearestModel(documents)
  const findings = await withProjectErrors(lint({ documents, names, actions: flags.action, modelOf }), paths)
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const warnings = findings.length - errors
  if (flags.json) printJson({ version: 1, files: documents.length, errors, warnings, findings })
  else if (flags.sarif) printLines(JSON.stringify(toSarif(findings, packageJson.version), null, 2).split('\n'))
  else {
    for (const finding of findings) printLine(lineOf(finding))
    const schema = names === null ? '; names were not compared with data (--schema or --project)' : ''
    printNotice(
      `${counted(errors, 'error')}, ${counted(warnings, 'warning')} in ${counted(documents.length, 'file')}${schema}`,
    )
  }
  if (errors > 0 || (flags.strict && warnings > 0)) process.exitCode = exitCodes.failure.code
}

function lineOf({ file, line, column, severity, rule, message }: LintFinding): string {
  const shown = severity === 'error' ? colours.red(severity) : colours.yellow(severity)
  return `${file === '' ? '--action' : `${file}:${line}:${column}`}: ${shown}: ${message} (${rule})`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
