// Whether the command line speaks in colours: where a terminal reads it, each of the two streams for itself, unless
// NO_COLOR or FORCE_COLOR say otherwise. A build machine is no terminal: CI alone changes nothing.
import picocolors from 'picocolors'

type Environment = Readonly<Record<string, string | undefined>>

/** NO_COLOR wins. An empty variable is one that is not there, and `FORCE_COLOR=0` says no. */
export function supportsColours(environment: Environment, isTerminal: boolean): boolean {
  if ((environment.NO_COLOR ?? '') !== '') return false
  const forced = environment.FORCE_COLOR ?? ''
  if (forced !== '') return forced !== '0' && forced !== 'false'
  return isTerminal && environment.TERM !== 'dumb'
}

/** For what is printed. */
export const colours = picocolors.createColors(supportsColours(process.env, process.stdout.isTTY === true))

/** For what is said beside it. */
export const errorColours = picocolors.createColors(supportsColours(process.env, process.stderr.isTTY === true))
