// Writes the text of a model of this product for a model of relations: one definition for each relation that is more than stored
// relationships, with the name of the original.
import { assert } from '../kernel/assert.ts'
import { cypherName } from '../kernel/text/cypher-names.ts'
import { formatModel } from '../language/format/format-model.ts'
import {
  type Alternative,
  type AlternativeEnds,
  anyText,
  clauseText,
  joined,
  labelsText,
  type Path,
  testedTargets,
} from './alternative.ts'
import { conditionText, stringText } from './condition-text.ts'
import { MigrationNames } from './names.ts'
import { RelationGraph } from './relation-graph.ts'
import type { RelationExpression, RelationModel, RelationTuple, SubjectForm } from './relation-model.ts'
import { type AskedUserset, StoredSubjects } from './stored-subjects.ts'

/**
 * How much a definition may contain: what certainly belongs to it, or what possibly does, because a condition is unknown. An exclusion
 * asks the other one. `level`: how often a cycle may still exclude itself.
 */
interface Certainty {
  readonly isPossible: boolean
  readonly level: number
}

/** How often a relation that excludes itself is repeated. Beyond that it denies. */
const LEVELS = 3

/** As many wildcards are written out where they are used. */
const UNNAMED_WILDCARDS_MAX = 3

const ENDS: AlternativeEnds = { source: 'u', target: 'd' }
const NO_TYPES: ReadonlySet<string> = new Set()

/** A model of relations, converted. */
export class ConvertedModel {
  readonly names: MigrationNames
  readonly subjects: StoredSubjects
  /** The text of the model. */
  readonly text: string
  private readonly model: RelationModel
  private readonly graph: RelationGraph
  /** The relations that other ones use. */
  private readonly used: ReadonlySet<string>
  private readonly aliases = new Map<string, string>()
  private readonly written = new Map<string, { readonly name: string; text: string }>()
  private readonly pending: (() => void)[] = []
  private readonly conditional = new Map<string, boolean>()
  private standIns: { readonly name: string; text: string } | null = null
  /** Whether one definition leads to all nodes that stand for several subjects. Not if it could exclude itself. */
  private readonly sharesStandIns: boolean
  /** Whether a definition leads to the nodes that stand for all of a type. A few uses are shorter without it. */
  private readonly namesEveryone: boolean

  /** `asked`: the usersets that questions have as subjects. */
  constructor(model: RelationModel, asked: readonly AskedUserset[] = []) {
    this.model = model
    this.graph = new RelationGraph(model)
    this.names = new MigrationNames(model)
    this.used = new Set(
      [...model.types].flatMap(([type, relations]) =>
        [...relations.keys()].flatMap((relation) => this.graph.uses(type, relation).map((use) => use.relation)),
      ),
    )
    this.subjects = new StoredSubjects(this.graph, asked)
    this.sharesStandIns = !this.graph.hasExclusions
    const forms = [...model.types].flatMap(([type, relations]) =>
      [...relations.keys()].flatMap((relation) => this.graph.subjects(type, relation)),
    )
    this.namesEveryone = forms.filter(({ wildcard }) => wildcard).length > UNNAMED_WILDCARDS_MAX
    for (const [type, relations] of model.types) {
      for (const relation of relations.keys()) this.stepType(type, relation, { isPossible: false, level: LEVELS })
    }
    for (let next = this.pending.shift(); next !== undefined; next = this.pending.shift()) next()
    const texts = [this.standIns, ...this.written.values()].flatMap((one) => (one === null ? [] : [one.text]))
    const formatted = formatModel(texts.join('\n'))
    assert(formatted.ok, 'a model that was written is valid')
    this.text = formatted.value
  }

  /**
   * The condition of a policy: the subject has the relation to the resource. Null: the model has no such relation, or the subjects of
   * this form cannot be distinguished from others.
   */
  condition(
    subject: { readonly type: string; readonly relation: string | null },
    type: string,
    relation: string,
  ): string | null {
    if (!this.model.types.get(type)?.has(relation) || !this.subjects.isDistinct(subject, type, relation)) return null
    const step = this.stepType(type, relation, { isPossible: false, level: LEVELS })
    if (!this.subjects.mayBelong(subject, type, relation)) return null
    return `MATCH (subject:${this.subjectLabel(subject)})-[:${cypherName(step)}]->(resource:${this.names.label(type)})`
  }

  /** The label of the nodes of a subject. */
  subjectLabel({ type, relation }: { readonly type: string; readonly relation: string | null }): string {
    if (relation !== null && this.subjects.hasNode(type, relation)) return this.names.usersetLabel(type, relation)
    return this.names.label(type)
  }

  /** The stored type of the relationships of a tuple. */
  storedType({ relation }: Pick<RelationTuple, 'relation'>): string {
    return this.names.storedType(relation)
  }

  /** The relationship type, stored or derived, that a step over the relation has. Lets its definition be written if it needs one. */
  private stepType(type: string, relation: string, certainty: Certainty): string {
    const alias = this.aliasOf(relation)
    if (alias !== null) return this.stepType(type, alias, certainty)
    if (!this.needsDefinition(relation)) return this.names.storedType(relation)
    const key = this.graph.keyOf(type, relation)
    const isLevelled = this.graph.unstratified.has(key)
    const isPossible = certainty.isPossible && (isLevelled || this.isConditional(type, relation))
    const level = isLevelled ? certainty.level : LEVELS
    const full = `${key} ${isPossible} ${level}`
    const known = this.written.get(full)
    if (known !== undefined) return known.name
    const own = this.graph.split.has(relation) ? `${this.names.label(type)}_${relation}` : null
    const base = own === null ? this.names.derivedType(relation) : this.names.further(own)
    const prefix = isPossible ? 'possible_' : ''
    const suffix = level === LEVELS ? '' : `_${level}`
    const name = prefix + suffix === '' ? base : this.names.further(`${prefix}${base}${suffix}`)
    const entry = { name, text: '' }
    this.written.set(full, entry)
    const types = own === null ? this.graph.typesWith(relation) : [type]
    this.pending.push(() => {
      entry.text = this.definitionText(name, relation, types, { isPossible, level })
    })
    return name
  }

  /** The relation of which this one is only another name, for all types that have it. */
  private aliasOf(relation: string): string | null {
    const known = this.aliases.get(relation)
    if (known !== undefined) return known === relation ? null : known
    const types = this.graph.typesWith(relation)
    const targets = types.map((type) => {
      const expression = this.model.types.get(type)!.get(relation)!
      return expression.kind === 'relation' ? expression.name : relation
    })
    const target = targets[0]!
    const isAsked = types.some((type) => this.subjects.isOnlyAsked(type, relation))
    const having = this.graph.typesWith(target)
    // More types with the other name matter only to relations that lead through this one.
    const fits =
      having.join() === types.join() || (!this.used.has(relation) && types.every((type) => having.includes(type)))
    const isAlias = !isAsked && fits && targets.every((one) => one === target)
    this.aliases.set(relation, isAlias ? target : relation)
    return isAlias && target !== relation ? target : null
  }

  /** Whether the relation is more than stored relationships. */
  private needsDefinition(relation: string): boolean {
    return this.graph.typesWith(relation).some((type) => {
      const expression = this.model.types.get(type)!.get(relation)!
      if (expression.kind !== 'direct') return true
      return expression.subjects.some(
        (form) => form.relation !== null || form.wildcard || form.condition !== null || form.expires,
      )
    })
  }

  /** Whether a condition decides about the relation, directly or through others. */
  private isConditional(type: string, relation: string): boolean {
    const key = `${type}#${relation}`
    const known = this.conditional.get(key)
    if (known !== undefined) return known
    this.conditional.set(key, false)
    const seen = new Set([key])
    let found = false
    for (const one of seen) {
      const [of, name] = one.split('#') as [string, string]
      found ||= this.graph.subjects(of, name).some((form) => form.condition !== null)
      for (const use of this.graph.uses(of, name)) seen.add(`${use.type}#${use.relation}`)
      for (const through of this.throughOf(this.model.types.get(of)?.get(name))) {
        found ||= this.graph.subjects(of, through).some((form) => form.condition !== null)
      }
    }
    this.conditional.set(key, found)
    return found
  }

  private throughOf(expression: RelationExpression | undefined): readonly string[] {
    if (expression === undefined) return []
    switch (expression.kind) {
      case 'arrow':
        return [expression.through]
      case 'any':
      case 'all':
        return expression.of.flatMap((part) => this.throughOf(part))
      case 'except':
        return [...this.throughOf(expression.base), ...this.throughOf(expression.minus)]
      case 'direct':
      case 'relation':
      case 'none':
      case 'self':
        return []
    }
  }

  private definitionText(name: string, relation: string, types: readonly string[], certainty: Certainty): string {
    // A path may lead to types that do not have the relation.
    const all = new Set(this.model.types.keys())
    const alternatives = joined(
      types.flatMap((type) => [
        ...this.alternatives({ type, relation, certainty, depth: 1 }, this.model.types.get(type)!.get(relation)!),
        ...this.askedUserset(type, relation),
      ]),
      all,
      (joinedTypes) => this.mayJoin(joinedTypes),
    )
    const labels = alternatives.map((one) => labelsText(testedTargets(one, all).map((type) => this.names.label(type))))
    const common = labels.every((one) => one === labels[0]) ? (labels[0] ?? '') : null
    const parts =
      alternatives.length === 0
        ? [`MATCH (u)-[:${cypherName(name)}]->(d)`]
        : alternatives.map((one, at) => clauseText(one, ENDS, common === null ? labels[at]! : ''))
    return `DEFINE (u)-[:${cypherName(name)}]->(d${common ?? ''}) AS { ${parts.join(' UNION ')} }`
  }

  /** The nodes of usersets that only questions name, with relationships to their objects. */
  private askedUserset(type: string, relation: string): readonly Alternative[] {
    if (!this.subjects.isOnlyAsked(type, relation)) return []
    const path = pathOf([[this.names.storedType(relation)]])
    return [{ ...nothing(type), path, reached: this.reached(relation, null) }]
  }

  private mayJoin(types: readonly string[]): boolean {
    return types.every((type) => this.isStored(type))
  }

  private isStored(type: string): boolean {
    return type !== this.standIns?.name && ![...this.written.values()].some(({ name }) => name === type)
  }

  private alternatives(place: RelationPlace, expression: RelationExpression): readonly Alternative[] {
    switch (expression.kind) {
      case 'none':
        return []
      case 'self':
        return [{ ...nothing(place.type), path: null }]
      case 'direct':
        return this.direct(place, expression.subjects)
      case 'relation': {
        if (!this.model.types.get(place.type)?.has(expression.name)) return []
        const types = [this.step(place, place.type, expression.name)]
        const reached = new Set(this.graph.typesWith(expression.name))
        return [{ ...nothing(place.type), path: pathOf([types]), reached }]
      }
      case 'arrow':
        return this.arrow(place, expression.through, expression.name, expression.every)
      case 'any':
        return expression.of.flatMap((part) => this.alternatives(place, part))
      case 'all':
        return this.all(place, expression.of)
      case 'except':
        return this.except(place, expression.base, expression.minus)
    }
  }

  /** The type of a step that a definition follows. Only a cycle that excludes itself has levels. */
  private step({ type, relation, certainty }: RelationPlace, of: string, name: string): string {
    const isOneCycle = this.graph.isOneCycle(this.graph.keyOf(type, relation), this.graph.keyOf(of, name))
    return this.stepType(of, name, isOneCycle ? certainty : { ...certainty, level: LEVELS })
  }

  /** All of these must hold: the alternatives of one of them, with the others as conditions. */
  private all(place: RelationPlace, parts: readonly RelationExpression[]): readonly Alternative[] {
    const inner = { ...place, depth: place.depth + 1 }
    const lists = parts.map((part) => this.join(place.type, this.alternatives(place, part)))
    if (lists.some((list) => list.length === 0)) return []
    // The fewest alternatives repeat the other conditions least often.
    const fewest = lists.reduce((best, list, at) => (list.length < lists[best]!.length ? at : best), 0)
    const conditions = parts.flatMap((part, at) => {
      if (at === fewest) return []
      return [anyText(this.join(place.type, this.alternatives(inner, part)), ENDS)]
    })
    return lists[fewest]!.map((one) => ({ ...one, conditions: [...one.conditions, ...conditions] }))
  }

  private except(place: RelationPlace, base: RelationExpression, minus: RelationExpression): readonly Alternative[] {
    const { certainty, depth } = place
    const alternatives = this.join(place.type, this.alternatives(place, base))
    const opposite = { ...place, certainty: { ...certainty, isPossible: !certainty.isPossible }, depth: depth + 1 }
    const excluded = this.excluded(opposite, minus)
    if (excluded === 'none' || excluded.length === 0) return alternatives
    if (excluded === 'all') return []
    const text = anyText(excluded, ENDS)
    const isOne = excluded.length > 1 || !text.includes(' AND ') || text.startsWith('EXISTS {')
    const condition = `NOT ${isOne ? text : `(${text})`}`
    return alternatives.map((one) => ({ ...one, conditions: [...one.conditions, condition] }))
  }

  /** The alternatives that an exclusion excludes. */
  private excluded(place: RelationPlace, minus: RelationExpression): readonly Alternative[] | 'all' | 'none' {
    const within = this.oneLevelLess(place)
    if (within === null) return place.certainty.isPossible ? 'all' : 'none'
    return this.join(place.type, this.alternatives(within, minus))
  }

  /** Within a cycle that excludes itself, the place one level less; null at the last level. */
  private oneLevelLess(place: RelationPlace): RelationPlace | null {
    const { type, relation, certainty } = place
    if (!this.graph.unstratified.has(this.graph.keyOf(type, relation))) return place
    return certainty.level === 0 ? null : { ...place, certainty: { ...certainty, level: certainty.level - 1 } }
  }

  private join(type: string, alternatives: readonly Alternative[]): readonly Alternative[] {
    return joined(alternatives, new Set([type]), (types) => this.mayJoin(types))
  }

  private direct(place: RelationPlace, subjects: readonly SubjectForm[]): readonly Alternative[] {
    const groups = Map.groupBy(subjects, (form) => this.demands(form, subjects))
    return [...groups.values()].flatMap((group) => this.directGroup(place, group, groups.size > 1))
  }

  /** The demands on the relationships of this form: equal texts for equal demands. */
  private demands(form: SubjectForm, subjects: readonly SubjectForm[]): string {
    const alike = subjects.filter((one) => this.storedLabel(one) === this.storedLabel(form))
    return JSON.stringify([
      [...new Set(alike.map(({ condition }) => condition ?? ''))].toSorted(),
      alike.some(({ expires }) => expires),
    ])
  }

  private storedLabel({ type, relation }: SubjectForm): string {
    return this.subjectLabel({ type, relation })
  }

  /** The alternatives for subjects of whose relationships the same is demanded. `isOne`: whether others exist. */
  private directGroup(place: RelationPlace, group: readonly SubjectForm[], isOne: boolean): readonly Alternative[] {
    const { type, relation } = place
    const usersets = group.filter(
      (form) => form.relation !== null && this.model.types.get(form.type)?.has(form.relation),
    )
    const wildcards = group.filter(({ wildcard }) => wildcard)
    const { stored, relationship } = this.storedStep(place, group, usersets.length + wildcards.length > 0)
    const labels = (forms: readonly SubjectForm[]): readonly string[] =>
      isOne ? [...new Set(forms.map((form) => this.storedLabel(form)))] : []
    const base = { ...nothing(type), relationship }
    const alternatives: Alternative[] = [
      {
        ...base,
        path: { ...pathOf([[stored]]), source: labels(group) },
        reached: this.reached(relation, null),
      },
    ]
    const standIns = [
      ...(this.namesEveryone ? wildcards : []),
      ...usersets.filter((form) => this.sharesStandIns && this.subjects.hasNode(form.type, form.relation!)),
    ]
    const others = usersets.filter((form) => !standIns.includes(form))
    for (const [, forms] of Map.groupBy(others, (form) => this.stepsText(place, form))) {
      alternatives.push({ ...base, ...this.userset(place, forms, stored, isOne) })
    }
    for (const { type: subjectType } of this.namesEveryone ? [] : wildcards) {
      const path = { ...pathOf([[stored]]), source: [this.names.label(subjectType)], isForAll: true }
      alternatives.push({
        ...base,
        path,
        reached: this.reachedWhere(relation, (form) => form.wildcard && form.type === subjectType),
      })
    }
    if (standIns.length > 0) {
      const path = pathOf([[this.standInName()], [stored]], labels(standIns))
      alternatives.push({ ...base, path, reached: this.reached(relation, new Set(standIns.map((form) => form.type))) })
    }
    return alternatives
  }

  /**
   * The type of the last step to a relation, and the condition of its relationships. `isRepeated`: several alternatives have the step; then
   * a condition is written once, in a definition.
   */
  private storedStep(
    place: RelationPlace,
    group: readonly SubjectForm[],
    isRepeated: boolean,
  ): { readonly stored: string; readonly relationship: Alternative['relationship'] } {
    const stored = this.names.storedType(place.relation)
    const relationship = this.relationshipCondition({ ...place, depth: 1 }, group)
    if (relationship === null) return { stored, relationship }
    if (!isRepeated) return { stored, relationship: this.relationshipCondition(place, group) }
    const text = `MATCH (s)-[${relationship.name}:${cypherName(stored)}]->(d) WHERE ${relationship.condition}`
    const known = this.written.get(text)
    if (known !== undefined) return { stored: known.name, relationship: null }
    const prefix = place.certainty.isPossible ? 'possible_' : ''
    const name = this.names.further(`${prefix}given_${this.names.derivedType(place.relation)}`)
    this.written.set(text, { name, text: `DEFINE (s)-[:${cypherName(name)}]->(d) AS { ${text} }` })
    return { stored: name, relationship: null }
  }

  private stepsText(place: RelationPlace, { type, relation }: SubjectForm): string {
    const step = this.step(place, type, relation!)
    return this.subjects.hasNode(type, relation!) ? `${step} ${type}` : step
  }

  /** The members of usersets with one relation. */
  private userset(
    place: RelationPlace,
    forms: readonly SubjectForm[],
    stored: string,
    isOne: boolean,
  ): Pick<Alternative, 'path' | 'reached'> {
    const { type, relation } = place
    const first = forms[0]!
    const member = first.relation!
    const step = this.step(place, first.type, member)
    const types = new Set(forms.map((form) => form.type))
    const reached = this.reached(relation, types)
    const labels = [...types].map((one) => this.names.label(one))
    if (this.subjects.hasNode(first.type, member)) {
      const steps = [
        { types: [step], direction: 'right' },
        { types: [this.names.ofObject], direction: 'left' },
        { types: [stored], direction: 'right' },
      ] as const
      const between = [[], [this.names.usersetLabel(first.type, member)]]
      return { path: { steps, between, source: [], isForAll: false }, reached }
    }
    const isAmbiguous = this.graph
      .subjects(type, relation)
      .some((form) => !types.has(form.type) && !form.wildcard && this.model.types.get(form.type)?.has(member))
    return { path: pathOf([[step], [stored]], isOne || isAmbiguous ? labels : []), reached }
  }

  /** The types of objects to which stored relationships of a relation lead, from these types of subjects; null: from all. */
  private reached(relation: string, from: ReadonlySet<string> | null): ReadonlySet<string> {
    return this.reachedWhere(relation, (form) => from === null || from.has(form.type))
  }

  private reachedWhere(relation: string, isSource: (form: SubjectForm) => boolean): ReadonlySet<string> {
    return new Set(this.graph.typesWith(relation).filter((type) => this.graph.subjects(type, relation).some(isSource)))
  }

  private relationshipCondition(
    { certainty, depth }: RelationPlace,
    group: readonly SubjectForm[],
  ): Alternative['relationship'] {
    const name = relationshipName(depth)
    const holds = this.conditionsOf(group, name, certainty)
    const ends = endsText(group, name)
    if (ends === null) return holds === null ? null : { name, condition: holds }
    if (holds === null) return { name, condition: ends }
    return { name, condition: `(${ends}) AND ${inParentheses(holds)}` }
  }

  /** The conditions of the relationships of these subjects; null: none is needed. */
  private conditionsOf(group: readonly SubjectForm[], name: string, certainty: Certainty): string | null {
    const names = [...new Set(group.map(({ condition }) => condition))]
    const texts: string[] = []
    for (const one of names) {
      if (one === null) {
        if (names.length > 1) texts.push(`${name}.condition IS NULL`)
        continue
      }
      const text = this.conditionOf(one, name, certainty)
      texts.push(names.length === 1 ? text : `${name}.condition = ${stringText(one)} AND ${inParentheses(text)}`)
    }
    return texts.length === 0 ? null : texts.join(' OR ')
  }

  /** The condition of that name of a relationship. One that the model does not declare is unknown. */
  private conditionOf(condition: string, relationship: string, { isPossible }: Certainty): string {
    const declared = this.model.conditions.get(condition)
    if (declared === undefined) return String(isPossible)
    const text = conditionText(declared, (parameter, members) => {
      const stored = cypherName([parameter, ...members].join('.'))
      return `coalesce(${relationship}.${stored}, $${[parameter, ...members].map(cypherName).join('.')})`
    })
    return isPossible ? `coalesce(${text}, true)` : text
  }

  private arrow(place: RelationPlace, through: string, name: string, every: boolean): readonly Alternative[] {
    const { type, depth } = place
    const stored = this.names.storedType(through)
    const forms = this.graph.subjects(type, through).filter((form) => !form.wildcard)
    const known = forms.filter((form) => this.model.types.get(form.type)?.has(name))
    const groups = Map.groupBy(known, (form) => {
      const node = form.relation !== null && this.subjects.hasNode(form.type, form.relation)
      return JSON.stringify([this.step(place, form.type, name), node && form, this.demands(form, forms)])
    })
    const demands = new Set(forms.map((form) => this.demands(form, forms)))
    const alternatives = [...groups.values()].map((group): Alternative => {
      const first = group[0]!
      const step = this.step(place, first.type, name)
      const types = new Set(group.map((form) => form.type))
      const labels = [...types].map((one) => this.names.label(one))
      const relationship = this.relationshipCondition(place, group)
      const base = { ...nothing(type), relationship, reached: this.reached(through, types) }
      if (first.relation !== null && this.subjects.hasNode(first.type, first.relation)) {
        const steps = [
          { types: [step], direction: 'right' },
          { types: [this.names.ofObject], direction: 'left' },
          { types: [stored], direction: 'right' },
        ] as const
        const between = [[], [this.names.usersetLabel(first.type, first.relation)]]
        return { ...base, path: { steps, between, source: [], isForAll: false } }
      }
      return { ...base, path: pathOf([[step], [stored]], demands.size > 1 ? labels : []) }
    })
    if (!every) return alternatives
    const within = this.oneLevelLess(place)
    if (within === null) return place.certainty.isPossible ? alternatives : []
    const parent = depth === 1 ? 'p' : `p${depth}`
    const steps = [...new Set(known.map((form) => this.step(within, form.type, name)))]
    const has = steps.map((step) => `(u)-[:${cypherName(step)}]->(${parent})`)
    const lacks = has.length === 1 ? has[0]! : `(${has.join(' OR ')})`
    const variable = relationshipName(depth + 1)
    const holds = this.conditionsOf(forms, variable, place.certainty)
    const ends = endsText(forms, variable)
    // A relationship whose condition does not hold, or is unknown, leads to an object that does not count.
    const counts = holds === null ? lacks : `(coalesce(${holds}, ${place.certainty.isPossible}) AND ${lacks})`
    const step = `-[${holds === null && ends === null ? '' : variable}:${cypherName(stored)}]->`
    const where = `${ends === null ? '' : `(${ends}) AND `}NOT ${counts}`
    const condition = `NOT EXISTS { (${parent})${step}(d) WHERE ${where} }`
    return alternatives.map((one) => ({ ...one, conditions: [...one.conditions, condition] }))
  }

  /** The definition that leads from a subject to the nodes that stand for it: of all of its type, and of usersets. */
  private standInName(): string {
    if (this.standIns === null) {
      const name = this.names.further(this.sharesStandIns ? 'in' : 'everyone')
      this.standIns = { name, text: '' }
      const { standIns } = this
      this.pending.push(() => {
        standIns.text = this.standInText(name)
      })
    }
    return this.standIns.name
  }

  private standInText(name: string): string {
    const forms = [...this.model.types].flatMap(([type, relations]) =>
      [...relations.keys()].flatMap((relation) => this.graph.subjects(type, relation)),
    )
    const wildcards = new Set(
      forms.flatMap((form) => (form.wildcard && this.namesEveryone ? [this.names.label(form.type)] : [])),
    )
    const parts = [...wildcards].map(
      (label) => `MATCH (u:${cypherName(label)}), (d:${cypherName(label)} {external_id: '*'})`,
    )
    if (this.sharesStandIns) {
      const usersets = Map.groupBy(
        forms.filter(({ type, relation }) => relation !== null && this.subjects.hasNode(type, relation)),
        ({ type, relation }) => this.names.usersetLabel(type, relation!),
      )
      for (const [label, [form]] of usersets) {
        if (!this.model.types.get(form!.type)?.has(form!.relation!)) continue
        const step = this.stepType(form!.type, form!.relation!, { isPossible: false, level: LEVELS })
        parts.push(`MATCH (u)-[:${cypherName(step)}]->()<-[:${this.names.ofObject}]-(d:${cypherName(label)})`)
      }
    }
    return `DEFINE (u)-[:${cypherName(name)}]->(d) AS { ${parts.join(' UNION ')} }`
  }
}

/** Where an expression is: the relation of the type that it defines, with which certainty, and how deep in conditions. */
interface RelationPlace {
  readonly type: string
  readonly relation: string
  readonly certainty: Certainty
  readonly depth: number
}

function nothing(type: string): Alternative {
  return { path: null, relationship: null, conditions: [], targets: new Set([type]), reached: NO_TYPES }
}

/** The name of the last relationship, so that those of conditions within conditions differ. */
function relationshipName(depth: number): string {
  return depth === 1 ? 'r' : `r${depth}`
}

/** The condition that a relationship has not ended; null if none of these subjects has relationships that end. */
function endsText(group: readonly SubjectForm[], name: string): string | null {
  if (!group.some(({ expires }) => expires)) return null
  return `${name}.expires IS NULL OR datetime(${name}.expires) > datetime()`
}

function inParentheses(text: string): string {
  return text.includes(' OR ') ? `(${text})` : text
}

/** A path to the right. `between`: the labels of the node between two steps. */
function pathOf(steps: readonly (readonly string[])[], between: readonly string[] = []): Path {
  return {
    steps: steps.map((types) => ({ types, direction: 'right' })),
    between: steps.slice(1).map(() => between),
    source: [],
    isForAll: false,
  }
}
