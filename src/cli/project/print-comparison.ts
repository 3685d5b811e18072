// Prints which decisions would change: a table by action, then examples with their paths, and what was left out.
import type {
  ComparisonOmission,
  ComparisonOutput,
  ExplainedElements,
  ExplainedKey,
  PairChanges,
} from '../../authorizer/authorizer.ts'
import { colours } from '../output/colours.ts'
import { printable } from '../output/show-values.ts'
import { tableLines } from '../output/table.ts'

/** The lines of a comparison. `otherwise`: the line if it is null. */
export function comparisonLines(compared: ComparisonOutput | null, otherwise: string): readonly string[] {
  if (compared === null) return [otherwise]
  const { gains, losses, left_out: left, duration_ms } = compared
  const time = `${(duration_ms / 1000).toFixed(duration_ms < 100 ? 3 : 1)} s`
  const rows = rowsOf(gains, losses)
  return [
    '',
    ...(rows.length > 0 ? tableLines(['action', 'subject', 'resource', 'gain', 'lose'], rows) : []),
    ...gains.flatMap((change) => changeLines(change, colours.green, '+', 'gained by')),
    ...losses.flatMap((change) => changeLines(change, colours.red, '-', 'lost with')),
    ...left.map((one) => colours.yellow(leftOutLine(one))),
    left.length === 0
      ? `${countOf(compared)} of decisions, compared in ${time}`
      : `at least ${countOf(compared)} of decisions, compared in ${time}; the comparison is not complete`,
  ]
}

function countOf({ gained, lost }: ComparisonOutput): string {
  return `${counted(gained, 'gain')} and ${counted(lost, 'loss')}`
}

function counted(count: number, noun: 'gain' | 'loss'): string {
  const plural = noun === 'gain' ? 'gains' : 'losses'
  return `${count.toLocaleString('en')} ${count === 1 ? noun : plural}`
}

/** One row for each action and pair of types. */
function rowsOf(gains: readonly PairChanges[], losses: readonly PairChanges[]): readonly (readonly string[])[] {
  const rows = new Map<string, { cells: readonly string[]; gain: Sum; lose: Sum }>()
  const add = (change: PairChanges, side: 'gain' | 'lose'): void => {
    for (const action of change.actions) {
      const cells = [action, change.subject_type, change.resource_type]
      const key = cells.join(' ')
      const row = rows.get(key) ?? { cells, gain: new Sum(), lose: new Sum() }
      rows.set(key, row)
      row[side].add(change)
    }
  }
  for (const change of gains) add(change, 'gain')
  for (const change of losses) add(change, 'lose')
  return [...rows.values()]
    .sort((a, b) => (a.cells.join(' ') < b.cells.join(' ') ? -1 : 1))
    .map(({ cells, gain, lose }) => [
      ...cells.map(printable),
      gain.text('+', colours.green),
      lose.text('-', colours.red),
    ])
}

class Sum {
  private pairs = 0
  private isLower = false

  add({ pairs, at_least }: PairChanges): void {
    this.pairs += pairs
    this.isLower ||= at_least
  }

  text(sign: string, colour: (text: string) => string): string {
    return this.pairs === 0 ? '0' : colour(`${sign}${this.pairs.toLocaleString('en')}${this.isLower ? ' or more' : ''}`)
  }
}

function changeLines(
  { policy, actions, pairs, at_least, sample }: PairChanges,
  colour: (text: string) => string,
  sign: string,
  by: string,
): readonly string[] {
  const count = `${at_least ? 'at least ' : ''}${pairs.toLocaleString('en')} ${pairs === 1 ? 'pair' : 'pairs'}`
  const more = pairs - sample.length
  return [
    '',
    `${colour(`${sign} ${actions.join(', ')}`)}: ${count} ${by} policy ${policy.name}`,
    ...sample.map(({ subject, resource, matched }) => {
      const path = matched === undefined ? '' : pathText(matched, subject)
      return `    ${subject.id} → ${resource.id}${path === '' ? '' : `  ${path}`}`
    }),
    ...(more > 0 && sample.length > 0 ? [colours.dim(`    … and ${more.toLocaleString('en')} more`)] : []),
  ]
}

function leftOutLine({ policy, actions, in: set, reason, message, read, of }: ComparisonOmission): string {
  const where = {
    old: 'as stored',
    new: 'as in the folder',
    both: reason === 'tags' ? 'stored and in the folder' : 'unchanged',
  }[set]
  const part = read !== undefined && of !== undefined ? ` (${Math.floor((100 * read) / of)} % read)` : ''
  return `left out: policy ${policy.name} (${where}), ${actions.join(', ')}: ${message}${part}`
}

/** The relationships of a match as paths, from the subject on: `(ann)-[:OWNS]->(c1)`. Nodes on no path stand alone. */
export function pathText({ nodes, relationships }: ExplainedElements, subject: ExplainedKey): string {
  const left = [...relationships]
  const paths: string[] = []
  while (left.length > 0) {
    let at =
      paths.length === 0 && left.some(({ source, target }) => isSame(source, subject) || isSame(target, subject))
        ? subject
        : left[0]!.source
    let path = nodeText(at)
    for (;;) {
      const next = left.findIndex(({ source, target }) => isSame(source, at) || isSame(target, at))
      const relationship = left[next]
      if (relationship === undefined) break
      left.splice(next, 1)
      const isForward = isSame(relationship.source, at)
      at = isForward ? relationship.target : relationship.source
      path += isForward ? `-[:${relationship.type}]->${nodeText(at)}` : `<-[:${relationship.type}]-${nodeText(at)}`
    }
    paths.push(path)
  }
  const isOnPath = (node: ExplainedKey): boolean =>
    relationships.some(({ source, target }) => isSame(source, node) || isSame(target, node))
  return [...paths, ...nodes.filter((node) => !isOnPath(node)).map(nodeText)].join(', ')
}

function nodeText({ type, id }: ExplainedKey): string {
  return `(${id ?? type ?? ''})`
}

function isSame(a: ExplainedKey, b: ExplainedKey): boolean {
  return a.type === b.type && a.id === b.id
}
