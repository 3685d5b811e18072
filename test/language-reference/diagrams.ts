// The page of railroad diagrams: one for each parser rule, from the productions that run. The page is self-contained
// and loads nothing.

import type { ISerializedGast } from 'chevrotain'
import { keywords } from '../../grammar/tokens.ts'
import { AnalysedParser } from '../support/analysed-parser.ts'
import { box, choice, type DiagramPiece, optional, repeated, sequence, svg } from './railroad.ts'

/** The forms of a serialised production that are read here. */
interface Production {
  readonly type: ISerializedGast['type']
  readonly name?: string
  readonly label?: string
  readonly definition?: readonly Production[]
  readonly separator?: Production
}

export function diagramsText(): string {
  const rules = inReadingOrder(
    new AnalysedParser({ skipValidations: true }).getSerializedGastProductions() as unknown as Production[],
  )
  const users = usersOf(rules)
  const sections = rules.map((rule) => {
    const name = rule.name as string
    const used = (users.get(name) ?? []).map((user) => `<a href="#${user}">${user}</a>`).join(', ')
    const from = used === '' ? '' : `<p>in ${used}</p>\n`
    const diagram = svg(sequenceOf(rule), name)
    return `<section id="${name}">\n<h2>${name}</h2>\n<div class="scroll">${diagram}</div>\n${from}</section>`
  })
  const contents = rules.map(({ name }) => `<a href="#${name}">${name}</a>`).join(' ')
  return `${HEAD}<nav>${contents}</nav>\n${sections.join('\n')}\n</main>\n</html>\n`
}

/** Top-down: a rule precedes the rules that it names. */
function inReadingOrder(rules: readonly Production[]): Production[] {
  const byName = new Map(rules.map((rule) => [rule.name as string, rule]))
  const ordered = new Set<Production>()
  const queue = ['statement', 'model']
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const rule = byName.get(name)
    if (!rule || ordered.has(rule)) continue
    ordered.add(rule)
    queue.push(...namesIn(rule))
  }
  const unreached = rules.filter((rule) => !ordered.has(rule))
  if (unreached.length > 0) throw new Error(`rules that no text reaches: ${unreached.map(({ name }) => name)}`)
  return [...ordered]
}

function namesIn({ definition = [], separator }: Production): string[] {
  const parts = separator ? [...definition, separator] : definition
  return parts.flatMap((part) => (part.type === 'NonTerminal' ? [part.name as string] : namesIn(part)))
}

function usersOf(rules: readonly Production[]): Map<string, string[]> {
  const users = new Map<string, string[]>()
  for (const rule of rules) {
    for (const name of new Set(namesIn(rule))) users.set(name, [...(users.get(name) ?? []), rule.name as string])
  }
  return users
}

// ---------------------------------------------------------------- productions as pieces

const sequenceOf = ({ definition = [] }: Production): DiagramPiece => sequence(definition.map(pieceOf))

function pieceOf(production: Production): DiagramPiece {
  switch (production.type) {
    case 'Terminal':
      return terminal(production)
    case 'NonTerminal':
      return box(production.name as string, 'rule', `#${production.name}`)
    case 'Alternation':
      return choice((production.definition ?? []).map(pieceOf))
    case 'Alternative':
    case 'Rule':
      return sequenceOf(production)
    case 'Option':
      return optional(sequenceOf(production))
    case 'Repetition':
      return optional(repeated(sequenceOf(production)))
    case 'RepetitionMandatory':
      return repeated(sequenceOf(production))
    case 'RepetitionWithSeparator':
      return optional(repeated(sequenceOf(production), pieceOf(production.separator as Production)))
    case 'RepetitionMandatoryWithSeparator':
      return repeated(sequenceOf(production), pieceOf(production.separator as Production))
    default:
      throw new Error(`a production of the kind ${production.type}`)
  }
}

/** Keywords and punctuation as written; other tokens by their name. */
function terminal({ name = '', label = name }: Production): DiagramPiece {
  const isSign = label.startsWith('`')
  const text = isSign ? label.slice(1, -1) : label
  return box(text, isSign || keywords.has(name) ? 'word' : 'token')
}

const HEAD = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The grammar in diagrams</title>
<style>
:root { color-scheme: light dark; --line: #5b6470; --word: #dbe9ff; --token: #e4f4dc; --rule: #fdf0cf; --ink: #16191d; --paper: #fff; --link: #1553a1; }
@media (prefers-color-scheme: dark) { :root { --line: #97a1ad; --word: #1d3557; --token: #20402a; --rule: #4a3d17; --ink: #e8ebee; --paper: #14171a; --link: #8ab8f5; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
nav { display: flex; flex-wrap: wrap; gap: 0.15rem 0.75rem; font-size: 0.85rem; }
a { color: var(--link); }
section { margin-top: 1.75rem; scroll-margin-top: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.05rem; margin: 0; }
section:target h2 { text-decoration: underline; }
section p { margin: 0; font-size: 0.85rem; }
.scroll { overflow-x: auto; }
svg { display: block; }
svg path { fill: none; stroke: var(--line); stroke-width: 1.5; }
svg circle { fill: var(--line); }
svg rect { stroke: var(--line); stroke-width: 1; }
svg text { font: 12.5px ui-monospace, monospace; text-anchor: middle; fill: var(--ink); }
.word rect { fill: var(--word); } .token rect { fill: var(--token); } .rule rect { fill: var(--rule); }
.token text { font-style: italic; }
.key { display: inline-block; padding: 0 0.5rem; border: 1px solid var(--line); }
</style>
</head>
<main>
<h1>The grammar in diagrams</h1>
<p>Every rule of the parser, drawn from the productions that it runs by:
<span class="key" style="background: var(--word); border-radius: 12px">word or sign</span>
<span class="key" style="background: var(--token); border-radius: 12px"><i>kind of token</i></span>
<span class="key" style="background: var(--rule); border-radius: 3px">rule</span>.
Where several branches are possible, the parser looks ahead; <a href="README.md">the language page</a> describes how. The binder may
still refuse a text that the parser accepts.</p>
`
