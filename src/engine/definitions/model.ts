// A model: the definitions of derived relationship types, from one text. Definitions may use each other and themselves; what a
// definition excludes must not depend on it (stratified negation), so that there is exactly one least set of pairs.
import type { DefinitionText, ModelText, Query, Span } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { parseModel } from '../../../grammar/index.ts'
import { assert } from '../../kernel/assert.ts'
import { isReservedName } from '../../kernel/element-rules.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { allSteps, type Steps } from '../../kernel/steps.ts'
import { bindBranch } from '../bind/bind-query.ts'
import type { TabledBranch, TabledDefinition } from '../bind/bound.ts'
import type { Definition, Definitions, QueryDefinitions } from '../bind/definitions.ts'
import { type Dialect, dialects } from '../bind/dialect.ts'
import { branchesOf } from './branches.ts'
import { closureWithoutRecursion, withoutLinearRecursion } from './linear.ts'
import { type AddedDefinition, Repetitions, withInnerName } from './repetition.ts'
import { type DefinitionUse, usesIn } from './uses.ts'

/** Limit for one model: far above what people write. */
const MAX_DEFINITIONS = 1_000

/** Compiles a model. The error holds every diagnostic; its places are offsets of the text. */
export function compileModel(text: string): Result<CompiledModel, readonly Diagnostic[]> {
  const parsed = parseModel(text)
  return parsed.ok ? allSteps(compilingDefinitions(parsed.model)) : err(parsed.diagnostics)
}

/** As `compileModel`, for a text that was parsed: one definition in each step. */
export function* compilingDefinitions({
  definitions,
}: Pick<ModelText, 'definitions'>): Steps<Result<CompiledModel, readonly Diagnostic[]>> {
  const diagnostics = definitions.flatMap((definition, at) => shapeFaults(definition, definitions.slice(0, at)))
  const beyond = definitions[MAX_DEFINITIONS]
  if (beyond !== undefined) {
    diagnostics.push(fault('ModelTooLong', `more than ${MAX_DEFINITIONS} definitions`, beyond.span))
  }
  if (diagnostics.length > 0) return err(diagnostics)
  const names = new Set(definitions.map(({ name }) => name.text))
  const repetitions = new Repetitions(
    (name) => names.has(name),
    definitions.map(({ body }) => body),
  )
  const rewritten = definitions.map((one) => ({ ...one, body: repetitions.rewrite(one.body) }))
  diagnostics.push(...repetitions.diagnostics)
  const texts = entriesOf(rewritten, repetitions.added)
  const components = componentsOf(texts)
  diagnostics.push(...[...texts].flatMap(([name, { uses }]) => cycleFaults(name, uses, texts, components)))
  if (diagnostics.length > 0) return err(diagnostics)
  yield
  const model = new CompiledModel(texts, components, null)
  yield
  const faults = yield* model.binding(dialects.definition)
  diagnostics.push(...faults.map((one) => withInnerName(repetitions.innerNames, one)))
  return diagnostics.length > 0 ? err(diagnostics) : ok(model)
}

interface ModelEntry {
  readonly definition: DefinitionText
  readonly uses: readonly DefinitionUse[]
  /** Null for a definition of the text. */
  readonly added: AddedDefinition | null
}

/** The definitions of a text with those that its repeated steps need. */
function entriesOf(
  definitions: readonly DefinitionText[],
  added: readonly AddedDefinition[],
): ReadonlyMap<string, ModelEntry> {
  const all = [
    ...definitions.map((definition) => ({ definition, added: null })),
    ...added.map((one) => ({ definition: one.definition, added: one })),
  ]
  const names = new Set(all.map(({ definition }) => definition.name.text))
  return new Map(
    all.map(({ definition, added: one }) => [
      definition.name.text,
      { definition, added: one, uses: usesIn(definition.body, (name) => names.has(name)) },
    ]),
  )
}

type ModelEntries = ReadonlyMap<string, ModelEntry>

function fault(code: string, message: string, { start, end }: Span): Diagnostic {
  return { code, message, span: { start, end } }
}

/** The faults of one definition, apart from its cycles. */
function shapeFaults(
  { name, source, target, body }: DefinitionText,
  before: readonly DefinitionText[],
): readonly Diagnostic[] {
  const faults: Diagnostic[] = []
  if (before.some((other) => other.name.text === name.text)) {
    const message = `\`${name.text}\` is defined twice: write its alternatives in one definition, with UNION`
    faults.push(fault('InvalidDefinition', message, name.span))
  }
  if (isReservedName(name.text)) {
    const message = `\`${name.text}\` cannot be defined: names that begin with \`_\` belong to the service`
    faults.push(fault('InvalidDefinition', message, name.span))
  }
  if (source.variable.text === target.variable.text) {
    faults.push(fault('InvalidDefinition', 'the two ends of a definition need different variables', target.span))
  }
  if (body.input !== null) faults.push(fault('ForbiddenClause', 'NEXT is not allowed in a definition', body.span))
  for (const { clauses } of body.parts) {
    for (const clause of clauses) {
      if (clause.kind !== 'with') continue
      if (clause.distinct || clause.orderBy.length > 0 || clause.skip !== null || clause.limit !== null) {
        const message = 'DISTINCT, ORDER BY, SKIP and LIMIT are not allowed in a definition: its pairs have no order'
        faults.push(fault('InvalidDefinition', message, clause.span))
      }
    }
  }
  return faults
}

/** By name, the number of the component: definitions that use each other have the same one, and a used definition of another component has a lower one. */
function componentsOf(entries: ModelEntries): ReadonlyMap<string, number> {
  // Tarjan's algorithm, without recursion: a model may chain a thousand definitions.
  const components = new Map<string, number>()
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  for (const root of entries.keys()) {
    if (order.has(root)) continue
    const path: { readonly name: string; at: number }[] = []
    const enter = (name: string): void => {
      order.set(name, order.size)
      low.set(name, order.get(name)!)
      stack.push(name)
      path.push({ name, at: 0 })
    }
    enter(root)
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const used = entries.get(top.name)!.uses[top.at]?.type.name
      top.at += 1
      if (used !== undefined) {
        if (!order.has(used)) enter(used)
        else if (!components.has(used)) low.set(top.name, Math.min(low.get(top.name)!, order.get(used)!))
        continue
      }
      path.pop()
      const user = path.at(-1)
      if (user !== undefined) low.set(user.name, Math.min(low.get(user.name)!, low.get(top.name)!))
      if (low.get(top.name) !== order.get(top.name)) continue
      const number = new Set(components.values()).size
      for (let name = stack.pop(); name !== undefined; name = stack.pop()) {
        components.set(name, number)
        if (name === top.name) break
      }
    }
  }
  return components
}

/** The uses of a definition that exclude what depends on the definition itself. */
function cycleFaults(
  name: string,
  uses: readonly DefinitionUse[],
  entries: ModelEntries,
  components: ReadonlyMap<string, number>,
): readonly Diagnostic[] {
  return uses.flatMap(({ type, isMonotone }) => {
    if (isMonotone || components.get(type.name) !== components.get(name)) return []
    const cycle = [name, ...pathBetween(type.name, name, entries)].map((one) => `\`${one}\``).join(' → ')
    const message = `a definition cannot exclude or count what depends on itself: ${cycle}`
    return [fault('UnstratifiedDefinition', message, type.span)]
  })
}

/** The names from a definition to another one that it uses, directly or through others, both included. */
function pathBetween(from: string, to: string, entries: ModelEntries): readonly string[] {
  const paths: (readonly string[])[] = [[from]]
  const seen = new Set([from])
  for (const path of paths) {
    const last = path.at(-1)!
    if (last === to) return path
    for (const { type } of entries.get(last)!.uses) {
      if (seen.has(type.name)) continue
      seen.add(type.name)
      paths.push([...path, type.name])
    }
  }
  return [from, to]
}

/** `written`: each definition has a table and its alternatives are those of the text, as explanations show them. */
type ModelForm = 'fast' | 'written'

/** The definitions of one model, or those that the repeated steps of one query add to a model. */
export class CompiledModel implements Definitions {
  private readonly definitions = new Map<string, Definition>()
  private readonly texts: ModelEntries
  private readonly components: ReadonlyMap<string, number>
  private readonly model: CompiledModel | null
  private readonly form: ModelForm
  private readonly bound = new Map<string, TabledDefinition>()
  private asWritten: CompiledModel | null = null

  /** Use `compileModel`. `model`: further definitions that these ones can use. */
  constructor(
    texts: ModelEntries,
    components: ReadonlyMap<string, number>,
    model: CompiledModel | null,
    form: ModelForm = 'fast',
  ) {
    this.texts = texts
    this.components = components
    this.model = model
    this.form = form
    const isDerived = (type: string): boolean => texts.has(type) || (model?.has(type) ?? false)
    const sizes = new Map<number, number>()
    for (const component of components.values()) sizes.set(component, (sizes.get(component) ?? 0) + 1)
    for (const [name, { definition, uses, added }] of texts) {
      const isAlone = sizes.get(components.get(name)!) === 1
      const usesItself = uses.some(({ type }) => type.name === name)
      const branches = branchesOf(definition, added?.needs)
      if (form === 'written') {
        this.definitions.set(name, { name, branches, isTabled: true, step: added?.step ?? null })
        continue
      }
      // A definition that is repeated comes before the repetition.
      const repeated = added?.closureOf == null ? undefined : this.get(added.closureOf)
      let walks: Definition['branches'] | null = null
      if (repeated?.isTabled === false) walks = closureWithoutRecursion(definition.name, repeated.branches, isDerived)
      else if (isAlone && usesItself) walks = withoutLinearRecursion(definition, branches, isDerived)
      const isTabled = added?.isTabled === true || (walks === null && (usesItself || !isAlone))
      this.definitions.set(name, { name, branches: walks ?? branches, isTabled, step: added?.step ?? null })
    }
  }

  /** The names of the definitions, in the order of the text. */
  get names(): readonly string[] {
    return [...this.definitions.values()].flatMap(({ name, step }) => (step === null ? [name] : []))
  }

  /** The place of a definition in the text; null: the model does not have it. */
  spanOf(name: string): Span | null {
    return this.texts.get(name)?.definition.span ?? null
  }

  /** The definitions that name one of these relationship types, each with the first name. */
  usersOf(types: ReadonlySet<string>): readonly { readonly definition: string; readonly type: string }[] {
    return [...this.texts].flatMap(([definition, { definition: text }]) => {
      const [use] = usesIn(text.body, (name) => types.has(name))
      return use === undefined ? [] : [{ definition, type: use.type.name }]
    })
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  get(name: string): Definition | undefined {
    return this.definitions.get(name) ?? this.model?.get(name)
  }

  tabled(names: Iterable<string>): readonly TabledDefinition[] {
    const found = new Map<string, TabledDefinition>()
    const pending = [...names]
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      if (found.has(name)) continue
      const definition = this.boundOf(name)
      if (definition === undefined) continue
      found.set(name, definition)
      pending.push(...definition.branches.flatMap(({ uses }) => uses))
    }
    return [...found.values()]
  }

  private boundOf(name: string): TabledDefinition | undefined {
    return this.bound.get(name) ?? this.model?.boundOf(name)
  }

  forQuery(query: Query, dialect: Dialect): QueryDefinitions {
    const repetitions = new Repetitions((name) => this.has(name), [query])
    const rewritten = repetitions.rewrite(query)
    const { added, diagnostics, innerNames } = repetitions
    const explain = (one: Diagnostic): Diagnostic => withInnerName(innerNames, one)
    if (added.length === 0) return { query: rewritten, definitions: this, symbols: [], diagnostics, explain }
    const texts = entriesOf([], added)
    const components = new Map([...componentsOf(texts)].map(([name, at]) => [name, this.components.size + at]))
    const definitions = new CompiledModel(texts, components, this, this.form)
    // Tables hold the answer to a question once, so it must be the same each time.
    const faults = definitions.bindAll({ ...dialect, allowsImpure: false }).map(inRepetition)
    return {
      query: rewritten,
      definitions,
      symbols: [...definitions.bound.values()].flatMap(({ branches }) => branches.flatMap(({ symbols }) => symbols)),
      diagnostics: [...diagnostics, ...faults],
      explain,
    }
  }

  get written(): Definitions {
    if (this.form === 'written') return this
    if (this.asWritten === null) {
      const { texts, components } = this
      this.asWritten = new CompiledModel(texts, components, this.model, 'written')
      const faults = this.asWritten.bindAll(dialects.definition)
      assert(faults.length === 0, 'a compiled model has no fault')
    }
    return this.asWritten
  }

  /** Binds every alternative. Returns what is wrong with them. */
  bindAll(dialect: Dialect): readonly Diagnostic[] {
    return allSteps(this.binding(dialect))
  }

  /** As `bindAll`, one definition in each step. */
  *binding(dialect: Dialect): Steps<readonly Diagnostic[]> {
    const diagnostics: Diagnostic[] = []
    for (const [name, { branches }] of this.definitions) {
      const { body } = this.texts.get(name)!.definition
      const bound: TabledBranch[] = []
      branches.forEach((branch, at) => {
        const result = bindBranch(branch, dialect, this, this.model !== null)
        if (!result.ok) diagnostics.push(...result.error)
        else {
          diagnostics.push(...branchFaults(result.value, body.parts[at]?.span ?? body.span))
          bound.push(result.value)
        }
      })
      this.bound.set(name, { name, component: this.components.get(name)!, branches: bound })
      yield
    }
    return diagnostics
  }
}

/** A repeated pattern is a definition of its own, so it reads no name of the query around it. */
function inRepetition(diagnostic: Diagnostic): Diagnostic {
  if (diagnostic.code !== 'UndefinedVariable') return diagnostic
  const message = `a repeated pattern with a derived relationship reads only its own elements: ${diagnostic.message}`
  return { ...diagnostic, message }
}

function branchFaults({ clauses }: TabledBranch, place: Span): readonly Diagnostic[] {
  const aggregates = clauses.some((clause) => clause.kind === 'projection' && clause.projection.grouping !== null)
  if (!aggregates) return []
  const message = 'WITH cannot aggregate in a definition: use COUNT { } or COLLECT { }'
  return [fault('InvalidAggregation', message, place)]
}
