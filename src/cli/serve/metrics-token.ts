// The command `metrics-token`: writes a token for Prometheus to the file of the setting `metrics_token_file`, next to the one before, so
// that the token is changed without a gap and without a restart.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { parseTokenFile } from '../../identity/token-file.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { printLine } from '../output/print.ts'

const TOKEN_BYTES = 32

/**
 * Runs `metrics-token`. `isOnly`: removes the earlier token instead of making a new one. Throws OperationalError if the file exists and
 * has no valid tokens.
 */
export function writeMetricsToken(file: string, isOnly: boolean): void {
  const exists = existsSync(file)
  if (isOnly && !exists) throw new OperationalError(`the file ${file} does not exist`)
  const before = exists ? parseTokenFile(readFileSync(file, 'utf8')) : []
  // An unknown file is not overwritten.
  if (before === null) throw new OperationalError(`the file ${file} contains something else than metrics tokens`)
  const newest = before.at(0)
  const tokens = isOnly
    ? before.slice(0, 1)
    : [randomBytes(TOKEN_BYTES).toString('base64url'), ...(newest === undefined ? [] : [newest])]
  // Replaced at once: a service that reads it in the meantime finds the earlier tokens.
  writeFileSync(`${file}.next`, tokens.map((token) => `${token}\n`).join(''), { mode: 0o600 })
  renameSync(`${file}.next`, file)
  if (isOnly) {
    printLine(`${file} has the newest token only`)
    return
  }
  printLine(`${file} has a new token in its first line${tokens.length > 1 ? ', and the one before' : ''}`)
  if (tokens.length > 1) printLine('Give Prometheus the new one, then remove the other with `--only`.')
}
