// Whether output is coloured: only on a terminal, for each of the two streams, unless NO_COLOR or FORCE_COLOR override
// it. CI alone changes nothing. A coloured text is for the functions of print.ts, which escape every control sequence except those
// that are made here.
import { randomInt } from 'node:crypto'
import picocolors from 'picocolors'
import { printable } from './show-values.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** A number of this process in its colour sequences: data, for example an id with a colour sequence, cannot contain it. */
const MARK = randomInt(1_000_000_000, 2_000_000_000)
const markedSequence = new RegExp(`\\u001b\\[(\\d+);${MARK}m`)

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
export const colours = markedColours(supportsColours(process.env, process.stdout.isTTY === true))

/** Colours for the error stream. */
export const errorColours = markedColours(supportsColours(process.env, process.stderr.isTTY === true))

/** A line as the terminal gets it: with our colours, and with every other control character except a tab as an escape. */
export function terminalLine(line: string): string {
  return line
    .split(markedSequence)
    .map((part, at) => (at % 2 === 1 ? `\u001b[${part}m` : part.split('\t').map(printable).join('\t')))
    .join('')
}

function markedColours(isOn: boolean) {
  const { red, green, yellow, cyan, dim, bold } = picocolors.createColors(isOn)
  return {
    red: marked(red),
    green: marked(green),
    yellow: marked(yellow),
    cyan: marked(cyan),
    dim: marked(dim),
    bold: marked(bold),
  }
}

/** As `colour`, with the mark in the two sequences that it adds. */
function marked(colour: (text: string) => string): (text: string) => string {
  const [before = '', after = ''] = colour('-')
    .split('-')
    .map((sequence) => sequence.replace(/m$/, `;${MARK}m`))
  return (text) => `${before}${text}${after}`
}
