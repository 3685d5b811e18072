// Whether output is coloured: only on a terminal, for each of the two streams, unless NO_COLOR or FORCE_COLOR override
// it. CI alone changes nothing.
import picocolors from 'picocolors'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Whether to use colours. NO_COLOR takes precedence. An empty variable counts as unset, and `FORCE_COLOR=0` disables
 * colours.
 */
export function supportsColours(environment: Environment, isTerminal: boolean): boolean {
  if ((environment.NO_COLOR ?? '') !== '') return false
  const forced = environment.FORCE_COLOR ?? ''
  if (forced !== '') return forced !== '0' && forced !== 'false'
  return isTerminal && environment.TERM !== 'dumb'
}

/** Colours for the output stream. */
export const colours = picocolors.createColors(supportsColours(process.env, process.stdout.isTTY === true))

/** Colours for the error stream. */
export const errorColours = picocolors.createColors(supportsColours(process.env, process.stderr.isTTY === true))
