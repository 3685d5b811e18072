// The shell without its terminal: statements over several lines, commands that begin with a colon, and completion.
import { suggestion } from '../../../grammar/suggest.ts'
import { completionsAt, insertedText } from '../../language/server/complete.ts'
import { checkNames, decisionLines, evaluationOf, explanationLines, searchLines } from '../ask/ask.ts'
import { limitFrom, parametersFrom } from '../ask/ask-arguments.ts'
import { type KnownNames, knownNames } from '../ask/known-names.ts'
import { answerLines, truncatedText, warningLines } from '../ask/query.ts'
import { UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { printable } from '../output/show-values.ts'
import { tableLines } from '../output/table.ts'
import { errorLinesOf } from '../target/asking.ts'
import { readContexts } from '../target/contexts.ts'
import { openTarget, type Target, type TargetFlags } from '../target/target.ts'
import { wordsOf } from './completion.ts'

/** Rows of an answer, until `:limit` changes them. */
const ROWS_DEFAULT = 100

/** Where a session prints. */
interface ShellOutput {
  print(line: string): void
  /** An error of the user. */
  fail(line: string): void
}

interface ShellCommand {
  readonly usage: string
  readonly help: string
  /** The command continues until a semicolon. */
  readonly isStatement?: true
  run(session: ShellSession, rest: string): Promise<void>
}

/** A session on one graph at a time. */
export class ShellSession {
  private target: Target
  private readonly output: ShellOutput
  private buffer: string[] = []
  private names: Awaited<ReturnType<Target['names']>> = null
  private known: KnownNames | null = null
  private readonly parameters = new Map<string, string>()
  private limit = ROWS_DEFAULT
  /** Statements and commands that failed. */
  errors = 0
  isOver = false

  constructor(target: Target, output: ShellOutput) {
    this.target = target
    this.output = output
  }

  /** Of the graph. */
  get description(): string {
    return this.target.description
  }

  /** Whether a statement has begun and not ended. */
  get isContinued(): boolean {
    return this.buffer.length > 0
  }

  /** Reads the names for completion. */
  async prepare(): Promise<void> {
    this.names = await this.target.names()
    this.known = await knownNames(this.target)
  }

  /** Handles a line. Returns the statements and commands that it has ended. */
  async feed(line: string): Promise<readonly string[]> {
    const isCommand = this.buffer.length === 0 && line.trimStart().startsWith(':')
    if (isCommand && !isStatement(line)) {
      await this.run(line.trim())
      return [line.trim()]
    }
    if (this.buffer.length === 0 && line.trim() === '') return []
    this.buffer.push(line)
    const { statements, rest } = splitStatements(this.buffer.join('\n'))
    this.buffer = rest.trim() === '' ? [] : [rest]
    for (const statement of statements) await this.run(statement)
    return statements.map((statement) => `${statement.replace(/\s+/g, ' ')};`)
  }

  /** Runs what has begun: the input has ended. */
  async finish(): Promise<void> {
    const rest = this.buffer.join('\n').trim()
    this.buffer = []
    if (rest !== '') await this.run(rest)
  }

  /** Forgets what has begun. */
  cancel(): void {
    this.buffer = []
  }

  async close(): Promise<void> {
    await this.target.close()
  }

  /** The texts that may replace the end of a line. `replaced`: how much of the line they replace. */
  complete(line: string): { readonly texts: readonly string[]; readonly replaced: string } {
    const isCommand = this.buffer.length === 0 && /^\s*:/.test(line)
    if (isCommand) {
      const found = this.completeCommand(line.trimStart())
      if (found !== null) return found
    }
    const statement = isCommand ? line.replace(/^\s*:\w*/, (name) => ' '.repeat(name.length)) : line
    const text = [...this.buffer, statement].join('\n')
    const { rest } = splitStatements(text)
    const word = /[\p{L}\p{M}\p{N}_$]*$/u.exec(line)?.[0] ?? ''
    const dataNames = this.names && {
      label: new Set(this.names.labels),
      type: new Set(this.names.relationship_types),
      property: new Set(this.names.properties),
    }
    const isParameter = word.startsWith('$')
    const found = isParameter
      ? [...this.parameters.keys()].map((name) => `$${name}`)
      : completionsAt(rest, rest.length, dataNames).map(insertedText)
    return { texts: startingWith(word, found), replaced: word }
  }

  /** Null: the rest of the command is Cypher. */
  private completeCommand(line: string): { texts: readonly string[]; replaced: string } | null {
    const words = wordsOf(line)
    const current = words.at(-1) ?? ''
    if (words.length === 1) return { texts: startingWith(current, Object.keys(commands)), replaced: current }
    const [name = ''] = words
    if (commands[name]?.isStatement === true) return null
    const types = [...(this.known?.types ?? [])].filter((type) => !type.startsWith('_')).map((type) => `${type}:`)
    const actions = [...new Set((this.known?.policies ?? []).flatMap((policy) => policy.actions))]
    const offered: Readonly<Record<string, readonly (readonly string[])[]>> = {
      ':check': [types, actions, types],
      ':explain': [types, actions, types],
      ':who': [actions, types],
      ':what': [types, actions],
      ':actions': [types, types],
      ':use': [contextNames()],
    }
    const texts = startingWith(current, offered[name]?.[words.length - 2] ?? [])
    // A terminal replaces from the last colon of a word.
    return { texts, replaced: current }
  }

  /** Runs one statement or command. */
  private async run(text: string): Promise<void> {
    try {
      const [, name, rest = ''] = /^(:\S*)\s*([\s\S]*)$/.exec(text) ?? []
      if (name === undefined) await this.query(text, 'rows')
      else await this.command(name, rest)
    } catch (error) {
      this.errors += 1
      for (const line of errorLinesOf(error)) this.output.fail(line.replace('--param', ':param'))
    }
  }

  private async command(name: string, rest: string): Promise<void> {
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (command === undefined) {
      throw new UsageError([
        `no command is named \`${name}\`${suggestion(name, Object.keys(commands)) || '; :help lists them'}`,
      ])
    }
    await command.run(this, rest)
  }

  /** Runs Cypher and prints its answer. */
  async query(text: string, mode: 'rows' | 'plan' | 'profile'): Promise<void> {
    const pairs = [...this.parameters].map(([name, value]) => `${name}=${value}`)
    const answer = await this.target.query({ query: text, mode, limit: this.limit, parameters: parametersFrom(pairs) })
    for (const line of warningLines(answer.warnings)) this.output.fail(`warning: ${line}`)
    this.printAll(answerLines(answer, 'table'))
    if (answer.truncated) this.output.print(colours.dim(truncatedText(answer).replace('--limit', ':limit')))
  }

  /** Asks for a decision; `isExplained`: with the outcome of each policy. */
  async decide(rest: string, isExplained: boolean): Promise<void> {
    const [subject, action, resource] = this.words(rest, 3, 'SUBJECT ACTION RESOURCE')
    const request = evaluationOf(subject ?? '', action ?? '', resource ?? '', this.question())
    if (isExplained) {
      const explanation = await this.target.explain(request)
      if (!explanation.decision) await checkNames(this.target, request)
      this.printAll(explanationLines(request, explanation))
      return
    }
    const decision = await this.target.evaluate(request)
    if (!decision.decision) await checkNames(this.target, request)
    this.printAll(decisionLines(request, decision))
  }

  /** Runs a search. */
  async search(kind: 'who' | 'what' | 'actions', rest: string): Promise<void> {
    const operands = { who: 'ACTION RESOURCE', what: 'SUBJECT ACTION', actions: 'SUBJECT RESOURCE' } as const
    const [first = '', second = ''] = this.words(rest, 2, operands[kind])
    this.printAll(
      await searchLines(this.target, kind, first, second, { ...this.question(), limit: String(this.limit) }),
    )
  }

  /** Prints labels, relationship types and properties. */
  async schema(): Promise<void> {
    await this.prepare()
    if (this.names === null) throw new UsageError(['the names of the graph cannot be read with this credential'])
    const { labels, relationship_types, properties } = this.names
    const rows = [
      ['labels', namesText(labels)],
      ['relationship types', namesText(relationship_types)],
      ['properties', properties.map(printable).join(' ')],
    ]
    this.printAll(tableLines(['KIND', 'NAMES'], rows))
  }

  /** Changes the graph: a context, or options such as `--folder authz`. */
  async use(rest: string): Promise<void> {
    const next = await openTarget(targetFlagsFrom(wordsOf(rest.trim())))
    await this.target.close()
    this.target = next
    await this.prepare()
    this.output.print(`asking ${next.description}`)
  }

  /** Sets a parameter, or prints all. */
  setParameter(rest: string): void {
    if (rest.trim() === '') {
      for (const [name, value] of this.parameters) this.output.print(`$${name} = ${value}`)
      return
    }
    const [name = ''] = Object.keys(parametersFrom([rest.trim()]))
    const value = rest.slice(rest.indexOf('=') + 1).trim()
    if (value === '') this.parameters.delete(name)
    else this.parameters.set(name, value)
  }

  /** Sets the maximum rows and results. */
  setLimit(rest: string): void {
    this.limit = limitFrom(rest.trim()) ?? this.limit
  }

  /** Prints the commands. */
  help(): void {
    const rows = Object.values(commands).map(({ usage, help }) => [usage, help])
    this.output.print('Cypher that ends with ; reads the graph. It may have several lines.')
    this.printAll(tableLines(['COMMAND', ''], rows))
  }

  private question() {
    const param = [...this.parameters].map(([name, value]) => `${name}=${value}`)
    return { param, tag: [] }
  }

  private words(rest: string, count: number, usage: string): readonly string[] {
    const words = wordsOf(rest.trim().replace(/;$/, ''))
    if (words.length === count && words.every((word) => word !== '')) return words
    throw new UsageError([`expected ${usage}; quote what has spaces`])
  }

  private printAll(lines: readonly string[]): void {
    for (const line of lines) this.output.print(line)
  }
}

/** The names of the data, without those of the engine. */
function namesText(names: readonly string[]): string {
  return names
    .filter((name) => !name.startsWith('_'))
    .map(printable)
    .join(' ')
}

const commands: Readonly<Record<string, ShellCommand>> = {
  ':check': {
    usage: ':check SUBJECT ACTION RESOURCE',
    help: 'decide, such as :check Person:ann drive Car:c1',
    run: (session, rest) => session.decide(rest, false),
  },
  ':explain': {
    usage: ':explain SUBJECT ACTION RESOURCE',
    help: 'explain a decision',
    run: (session, rest) => session.decide(rest, true),
  },
  ':who': { usage: ':who ACTION RESOURCE', help: 'list subjects', run: (session, rest) => session.search('who', rest) },
  ':what': {
    usage: ':what SUBJECT ACTION',
    help: 'list resources',
    run: (session, rest) => session.search('what', rest),
  },
  ':actions': {
    usage: ':actions SUBJECT RESOURCE',
    help: 'list actions',
    run: (session, rest) => session.search('actions', rest),
  },
  ':plan': {
    usage: ':plan CYPHER;',
    help: 'print the plan of a query',
    isStatement: true,
    run: (session, rest) => session.query(rest, 'plan'),
  },
  ':profile': {
    usage: ':profile CYPHER;',
    help: 'run a query, and print its plan with rows, reads and time',
    isStatement: true,
    run: (session, rest) => session.query(rest, 'profile'),
  },
  ':param': {
    usage: ':param NAME=VALUE',
    help: 'set a parameter, remove it with an empty value; without a name, print all',
    run: async (session, rest) => session.setParameter(rest),
  },
  ':limit': {
    usage: ':limit COUNT',
    help: `maximum rows and results (${ROWS_DEFAULT})`,
    run: async (session, rest) => session.setLimit(rest),
  },
  ':schema': {
    usage: ':schema',
    help: 'print labels, relationship types and properties',
    run: (session) => session.schema(),
  },
  ':use': {
    usage: ':use CONTEXT',
    help: 'ask another graph: a context, or options such as --folder authz',
    run: (session, rest) => session.use(rest),
  },
  ':help': { usage: ':help', help: 'print this', run: async (session) => session.help() },
  ':quit': {
    usage: ':quit',
    help: 'end; also Ctrl-D',
    run: async (session) => {
      session.isOver = true
    },
  },
}

/** Whether a command continues until a semicolon. */
function isStatement(line: string): boolean {
  const [name = ''] = line.trim().split(/\s/, 1)
  return Object.hasOwn(commands, name) && commands[name]?.isStatement === true
}

/** Splits a text at its semicolons, outside of strings, quoted names and comments. `rest`: what follows the last of them. */
function splitStatements(text: string): { readonly statements: readonly string[]; readonly rest: string } {
  const statements: string[] = []
  let start = 0
  const parts = /'(?:\\.|[^'\\])*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$)|`[^`]*(?:`|$)|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;/g
  for (const { 0: part, index } of text.matchAll(parts)) {
    if (part !== ';') continue
    const statement = text.slice(start, index).trim()
    if (statement !== '') statements.push(statement)
    start = index + 1
  }
  return { statements, rest: text.slice(start) }
}

function targetFlagsFrom(words: readonly string[]): TargetFlags {
  const [first = ''] = words
  if (words.length === 1 && first !== '' && !first.startsWith('-')) return { context: first }
  const flags: Record<string, string> = {}
  for (let at = 0; at < words.length; at += 2) {
    const [, name] = /^--(context|url|project|data|folder|graph)$/.exec(words[at] ?? '') ?? []
    const value = words[at + 1]
    if (name === undefined || value === undefined) {
      throw new UsageError([
        ':use: expected a context, or options of --context, --url, --project, --data, --folder and --graph',
      ])
    }
    flags[name] = value
  }
  return flags
}

function contextNames(): readonly string[] {
  try {
    return Object.keys(readContexts().contexts)
  } catch {
    return []
  }
}

/** Keywords are found in any case. */
/** A terminal prints completions as they are. */
function isPrintable(text: string): boolean {
  return printable(text) === text
}

function startingWith(word: string, texts: readonly string[]): readonly string[] {
  const wanted = word.toLowerCase()
  return [...new Set(texts.filter((text) => text.toLowerCase().startsWith(wanted) && isPrintable(text)))]
}
