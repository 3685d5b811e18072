// The command `fmt`: formats the Cypher in files.
import { readFileSync, writeFileSync } from 'node:fs'
import { formatDocument, syntaxErrors } from '../../language/format/format-document.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printDocument, printLine } from '../output/print.ts'
import { readDocuments } from './language-files.ts'

/** The options of `fmt`. */
export interface FormatFlags {
  /** Writes nothing, and fails if a file is not formatted. */
  readonly check: boolean
}

/** The path that stands for the standard input and output. */
const STANDARD_INPUT = '-'

/** Runs `fmt` and sets the exit code of the process. Writes no file if the Cypher of one does not parse. */
export function formatFiles(paths: readonly string[], { check }: FormatFlags): void {
  if (paths.length === 0)
    throw new UsageError(['nothing to format: name files or folders, or - for Cypher on the standard input'])
  const isInput = paths.length === 1 && paths[0] === STANDARD_INPUT
  const documents = isInput ? [{ file: 'input.cypher', text: readFileSync(0, 'utf8') }] : readDocuments(paths)
  const invalid = documents.flatMap(syntaxErrors)
  if (invalid.length > 0)
    throw new CliError(invalid.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`))
  const formatted = documents.map((document) => ({ document, text: formatDocument(document) }))
  if (isInput && !check) {
    printDocument(formatted[0]!.text)
    return
  }
  const changed = formatted.filter(({ document, text }) => text !== document.text)
  for (const { document, text } of changed) {
    printLine(document.file)
    if (!check) writeFileSync(document.file, text)
  }
  if (check && changed.length > 0) process.exitCode = exitCodes.failure.code
}
