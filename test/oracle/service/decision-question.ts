// Decision requests: random ones over all entities of two types, with their paths and bodies.
import type { Random } from '../../generate/random.ts'
import type { EntityPair, RequestContents } from './decision.ts'
import type { EndTypes } from './decision-condition.ts'

/** The last entity of each does not exist. */
export const ACTIONS = ['read', 'edit', 'own', 'view', 'none']
const USERS = ['u0', 'u1', 'u2', 'u3', 'zz']
const DOCUMENTS = ['d0', 'd1', 'd2', 'd3', 'd4', 'zz']
export const subjectsOf = (_: EndTypes): readonly string[] => USERS
export const resourcesOf = (types: EndTypes): readonly string[] => (types[1] === 'Doc' ? DOCUMENTS : USERS)

export interface EvaluationQuestion {
  readonly kind: 'evaluation'
  readonly pair: EntityPair
  readonly isExplained: boolean
}

export interface SearchQuestion {
  readonly kind: 'search'
  readonly wanted: 'subject' | 'resource' | 'action'
  /** The searched member is ignored. */
  readonly pair: EntityPair
  /** Sent where an id is ignored. */
  readonly stray: boolean
  readonly limit: number
  /** Again with each token. */
  readonly isLimitRepeated: boolean
}

type RequestMember = 'subject' | 'action' | 'resource'

export interface NaiveBatchItem {
  readonly pair: EntityPair
  /** Taken from the default if it is equal. */
  readonly left: readonly RequestMember[]
  readonly hasContext: boolean
  /** Makes the request invalid. */
  readonly broken: { readonly member: RequestMember; readonly value: unknown } | null
}

export interface BatchQuestion {
  readonly kind: 'batch'
  readonly defaults: {
    readonly pair: EntityPair
    readonly members: readonly RequestMember[]
    readonly isResourceEmpty: boolean
  }
  readonly items: readonly NaiveBatchItem[]
  readonly semantic: 'execute_all' | 'deny_on_first_deny' | 'permit_on_first_permit' | null
  readonly hasOptions: boolean
}

export type NaiveQuestion = EvaluationQuestion | SearchQuestion | BatchQuestion

export function randomQuestions(random: Random, types: EndTypes): readonly NaiveQuestion[] {
  const [subjects, resources] = [subjectsOf(types), resourcesOf(types)]
  const pairs = ACTIONS.flatMap((action) =>
    subjects.flatMap((subject) => resources.map((resource) => ({ types, subject, action, resource }))),
  )
  const search = (wanted: SearchQuestion['wanted'], pair: EntityPair): SearchQuestion => ({
    kind: 'search',
    wanted,
    pair,
    stray: wanted === 'resource' && random.odds(0.2),
    limit: random.pick([0, 1, 1, 2, 3, 100]),
    isLimitRepeated: random.odds(0.5),
  })
  const first = { subject: subjects[0] as string, resource: resources[0] as string, action: ACTIONS[0] as string }
  return [
    ...pairs.map((pair) => ({ kind: 'evaluation', pair, isExplained: random.odds(0.25) }) as const),
    ...pairs.filter(({ resource }) => resource === first.resource).map((pair) => search('resource', pair)),
    ...pairs.filter(({ subject }) => subject === first.subject).map((pair) => search('subject', pair)),
    ...pairs.filter(({ action }) => action === first.action && random.odds(0.5)).map((pair) => search('action', pair)),
    ...Array.from({ length: 4 }, () => randomBatch(random, pairs)),
  ]
}

function randomBatch(random: Random, pairs: readonly EntityPair[]): BatchQuestion {
  const length = random.between(1, 6)
  const brokenAt = random.odds(0.3) ? random.between(0, length - 1) : -1
  const pair = random.pick(pairs)
  const members = [
    ...(random.odds(0.6) ? ['subject' as const] : []),
    ...(random.odds(0.6) ? ['action' as const] : []),
    ...(random.odds(0.4) ? ['resource' as const] : []),
  ]
  const isResourceEmpty = random.odds(0.1)
  const items = Array.from({ length }, (_, i) => {
    const one = random.pick(pairs)
    // Otherwise hardly any item would equal the default.
    const like = Object.fromEntries(members.filter(() => random.odds(0.4)).map((member) => [member, pair[member]]))
    const own: EntityPair = { ...one, ...like }
    const fits = (member: RequestMember) => members.includes(member) && !(member === 'resource' && isResourceEmpty)
    const broken = {
      member: random.pick(['subject', 'action', 'resource'] as const),
      value: random.pick([{}, null, 'x', { type: 1 }, { id: 'u0' }, { name: 5 }]),
    }
    return {
      pair: own,
      left: members.filter((member) => fits(member) && own[member] === pair[member] && random.odds(0.7)),
      hasContext: random.odds(0.2),
      broken: i === brokenAt ? broken : null,
    }
  })
  return {
    kind: 'batch',
    defaults: { pair, members, isResourceEmpty },
    items,
    semantic: random.pick([null, 'execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const),
    hasOptions: random.odds(0.3),
  }
}

export function pathOf(question: NaiveQuestion): string {
  if (question.kind === 'search') return `/access/v1/search/${question.wanted}`
  return question.kind === 'batch' ? '/access/v1/evaluations' : '/access/v1/evaluation'
}

export function bodyOf(question: NaiveQuestion, sent: RequestContents): Record<string, unknown> {
  const context = {
    input_params: sent.input,
    ...(sent.tags === null ? {} : { policy_tags: sent.tags }),
    extra: 1,
  }
  if (question.kind === 'evaluation') return { ...membersOf(question.pair, sent), context }
  if (question.kind === 'search') {
    const { subject, action, resource } = membersOf(question.pair, sent)
    const without = ({ id, ...rest }: Record<string, unknown>) => (question.stray ? { ...rest, id: 'stray' } : rest)
    if (question.wanted === 'action') return { subject, resource, context }
    return question.wanted === 'subject'
      ? { subject: without(subject), action, resource, context }
      : { subject, action, resource: without(resource), context }
  }
  const { defaults, items, semantic, hasOptions } = question
  const given = membersOf(defaults.pair, sent)
  const evaluations = items.map(({ pair, left, hasContext, broken }) => ({
    ...Object.fromEntries(
      Object.entries(membersOf(pair, sent)).filter(([name]) => !left.includes(name as RequestMember)),
    ),
    ...(hasContext ? { context } : {}),
    ...(broken === null ? {} : { [broken.member]: broken.value }),
  }))
  return {
    context,
    ...Object.fromEntries(defaults.members.map((member) => [member, given[member]])),
    ...(defaults.isResourceEmpty ? { resource: {} } : {}),
    evaluations,
    ...(semantic === null && !hasOptions
      ? {}
      : { options: { ...(semantic === null ? {} : { evaluations_semantic: semantic }), other: 1 } }),
  }
}

function membersOf({ types, subject, action, resource }: EntityPair, sent: RequestContents) {
  const properties = (given: object | null) => (given === null ? {} : { properties: given })
  return {
    subject: { type: types[0], id: subject, ...properties(sent.subject) },
    action: { name: action, ...properties(sent.action) },
    resource: { type: types[1], id: resource, ...properties(sent.resource) },
  }
}

const UNFIT_LOCATIONS = ['mars', 'constructor', '__proto__', '', 5, null]

export function randomSent(random: Random): RequestContents {
  const input: Record<string, unknown> = {}
  const often = (name: string, value: unknown): void => {
    if (random.odds(0.93)) input[name] = value
  }
  often('num', random.pick([0, 1, 2, 1.5, '1', null, true]))
  often('str', random.pick(['a', 'b', 'ab', 'OWNS', 3, null]))
  often('list', random.pick<unknown>([['d0', 'd1'], [], ['u0', 1, null], 'x', null]))
  const objects: unknown[] = [
    { a: { b: 1 } },
    { a: { b: 'ab' } },
    { a: 3 },
    5,
    { missing: { x: 'a' } },
    { constructor: 1 },
  ]
  often('obj', random.pick(objects))
  const moments = ['2026-01-01T00:00:00Z', '2025-12-31T23:00:00-01:00', '2027-05-05T05:05:05.5Z', 'soon', 7]
  often('when', random.pick(moments))
  often('pat', random.pick(['a*', '.*', '(', 'u.', 4]))
  const isUnfit = random.odds(0.03)
  often('loc', random.pick<unknown>(isUnfit ? UNFIT_LOCATIONS : ['eu', 'us', 'home', 'whole', 'eu2']))
  often('region', random.pick(['eu', 'us', 'home', 'eu2']))
  if (random.odds(0.3)) input.subject_id = random.pick(['u0', 'zz'])
  const properties = () =>
    random.odds(0.5)
      ? {
          k: random.pick([1, 'a', true]),
          n: random.pick([0, 1, 2, 'x']),
          soft: random.pick([true, false, 'yes', null]),
        }
      : null
  const [subject, resource, action] = [properties(), properties(), properties()]
  const tags = random.odds(0.3) ? random.pick([['t1'], ['t1', 't2'], ['t3', 'nope'], [], ['t1', 't1']]) : null
  const claims = {
    sub: random.pick(['u0', 'u1', 'u2']),
    role: random.pick(['a', 'b', 'admin']),
    roles: random.pick([['a', 'admin'], [], ['a', 1]]),
    level: random.pick([1, 2, '2']),
    flag: random.odds(0.5),
  }
  const kept = Object.entries(claims).filter(([name]) => name === 'sub' || random.odds(0.8))
  return { input, tags, subject, resource, action, claims: random.odds(0.25) ? Object.fromEntries(kept) : null }
}
