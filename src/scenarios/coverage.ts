// Finds what the decisions of a scenario have not reached: policies, operators of their plans, and conditions of their WHERE clauses.
import { positionOf } from '../../grammar/diagnostic.ts'
import type { Authorizer, CallOptions, EvaluationInput, ExplainedStep } from '../authorizer/authorizer.ts'
import { AuthorizerError } from '../authorizer/authorizer-error.ts'
import { openProjectAuthorizer } from '../authorizer/memory-authorizer.ts'
import { parseJson, writeJson } from '../kernel/json/json.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { compileDecisionDocument } from '../policy/compile-policy.ts'
import { isContextPolicy } from '../policy/policy-header.ts'
import type { FilePosition } from '../project/file-diagnostic.ts'
import type { FolderDocument } from '../project/project-folder.ts'
import type { SecretLookup } from '../project/secret-references.ts'
import { conditionVariants } from './condition-variants.ts'
import { positionInScenario } from './load-scenario.ts'
import type { ScenarioFile } from './scenario.ts'

/** An operator of the plan of a policy. */
export interface CoveredOperator {
  readonly operator: string
  readonly detail: string
  /** Whether it had a row in a decision. */
  readonly isReached: boolean
}

/** A condition of a WHERE clause. */
export interface CoveredCondition {
  /** As the author wrote it. */
  readonly text: string
  readonly position: FilePosition
  /** `never false`: no decision is a denial because of it. `never true`: this alternative of an OR alone never grants. */
  readonly problem: 'never false' | 'never true' | null
}

/** The parts of one policy that the decisions reached. */
export interface PolicyCoverage {
  readonly name: string
  readonly position: FilePosition
  /** Decisions for its types and one of its actions. */
  readonly asked: number
  /** Decisions that it granted, or forbade. */
  readonly granted: number
  readonly operators: readonly CoveredOperator[]
  readonly conditions: readonly CoveredCondition[]
}

/** The parts of policies that the decisions of a scenario reached. */
export interface ScenarioCoverage {
  /** The ACTIVE decision policies, in their order. */
  readonly policies: readonly PolicyCoverage[]
}

interface CoveredDecision {
  readonly request: EvaluationInput
  readonly options: CallOptions
}

interface RecordedPolicy {
  readonly decisions: CoveredDecision[]
  granted: number
  /** By place in the plan. */
  readonly operators: Map<string, { operator: string; detail: string; rows: number }>
}

/** Records decisions, and then finds what they did not reach. */
export class CoverageRecorder {
  private readonly scenario: ScenarioFile
  private readonly known: PolicyVariants
  private readonly policies: readonly FolderDocument[]
  private readonly recorded = new Map<string, RecordedPolicy>()

  /** `variants`: those that are known from other scenarios. */
  constructor(scenario: ScenarioFile, variants: PolicyVariants) {
    this.scenario = scenario
    this.known = variants
    this.policies = scenario.project.documents.filter(
      ({ kind, body }) => kind === policiesKind && body.status === 'ACTIVE' && !isContextPolicy(body),
    )
  }

  /** Records a decision. It is made again, with the explanation. */
  record(authorizer: Authorizer, request: EvaluationInput, options: CallOptions): void {
    const explained = orNull(() => authorizer.explain(request, options))
    if (explained === null) return
    for (const { name, outcome, plan } of explained.policies) {
      const policy: RecordedPolicy = this.recorded.get(name) ?? { decisions: [], granted: 0, operators: new Map() }
      this.recorded.set(name, policy)
      policy.decisions.push({ request, options })
      if (outcome === 'granted' || outcome === 'forbidden') policy.granted += 1
      if (plan !== undefined) recordStep(policy.operators, plan, '')
    }
  }

  /** Compares each policy with its variants. */
  async result(secrets: SecretLookup): Promise<ScenarioCoverage> {
    const tested = await this.replay(
      this.policies.filter(({ name }) => this.recorded.has(name)),
      secrets,
    )
    return {
      policies: this.policies.map((document) => {
        const { decisions = [], granted = 0, operators = new Map() } = this.recorded.get(document.name) ?? {}
        return {
          name: document.name,
          position: positionInScenario(this.scenario, document.locate('policy')),
          asked: decisions.length,
          granted,
          operators: [...operators.values()].map(({ operator, detail, rows }) => ({
            operator,
            detail,
            isReached: rows > 0,
          })),
          conditions: this.variantsOf(document).variants.map(
            (variant): CoveredCondition => ({
              text: variant.text,
              position: positionInScenario(this.scenario, variant.position),
              problem: tested.has(variant) ? null : variant.kind === 'alone' ? 'never true' : 'never false',
            }),
          ),
        }
      }),
    }
  }

  /** Asks the decisions of each policy of its variants, each of which is a policy for an action of its own. Returns the tested ones. */
  private async replay(
    policies: readonly FolderDocument[],
    secrets: SecretLookup,
  ): Promise<ReadonlySet<PolicyVariant>> {
    const { project, items } = this.scenario
    const groups = policies.map((policy, i) => {
      const { original, variants } = this.variantsOf(policy)
      return {
        decisions: this.recorded.get(policy.name)?.decisions ?? [],
        original: original?.(`p${i}-original`) ?? null,
        variants: variants.map((variant, at) => ({ variant, document: variant.documentFor(`p${i}-v${at}`) })),
      }
    })
    const documents = groups.flatMap(({ original, variants }) =>
      original === null || variants.length === 0 ? [] : [original, ...variants.map(({ document }) => document)],
    )
    const tested = new Set<PolicyVariant>()
    if (documents.length === 0) return tested
    const authorizer = await openProjectAuthorizer({ ...project, documents }, null, {
      secrets,
      report: () => undefined,
    })
    try {
      await authorizer.write(items)
      const grants = ({ name }: FolderDocument, { request, options }: CoveredDecision): boolean =>
        orNull(() => authorizer.evaluate({ ...request, action: { ...request.action, name } }, options))?.decision ===
        true
      for (const { decisions, original, variants } of groups) {
        for (const { variant, document } of variants) {
          const isTested = decisions.some(
            (one) =>
              grants(document, one) && (variant.kind === 'alone' || (original !== null && !grants(original, one))),
          )
          if (isTested) tested.add(variant)
        }
      }
      return tested
    } finally {
      await authorizer.close()
    }
  }

  private variantsOf(policy: FolderDocument): KnownVariants {
    const found = this.known.get(policy) ?? compileVariants(policy)
    this.known.set(policy, found)
    return found
  }
}

function recordStep(operators: RecordedPolicy['operators'], step: ExplainedStep, path: string): void {
  const { operator, detail, rows, children } = step
  const known = operators.get(path)
  operators.set(path, { operator, detail, rows: rows + (known?.rows ?? 0) })
  for (const [i, child] of children.entries()) recordStep(operators, child, `${path}.${i}`)
}

/** The variants of policies, for the scenarios of a project. */
export type PolicyVariants = WeakMap<FolderDocument, KnownVariants>

interface KnownVariants {
  /** The policy itself, under an action and a name of its own; null: it cannot be compiled. */
  readonly original: ((name: string) => FolderDocument) | null
  /** Those that compile. */
  readonly variants: readonly PolicyVariant[]
}

interface PolicyVariant {
  readonly kind: 'without' | 'alone'
  readonly text: string
  readonly position: FilePosition
  /** The variant as a policy for an action of its own. `name`: of the action and of the policy. */
  documentFor(name: string): FolderDocument
}

function compileVariants(policy: FolderDocument): KnownVariants {
  const json = parseJson(policy.body.policy as string, 'integers')
  if (!json.ok || !isJsonObject(json.value)) return { original: null, variants: [] }
  const { value } = json
  const { condition } = value
  if (!isJsonObject(condition) || typeof condition.cypher !== 'string') return { original: null, variants: [] }
  const { cypher } = condition
  const changed = (name: string, text: string) => ({
    ...value,
    actions: [name],
    condition: { ...condition, cypher: text },
  })
  const as = (text: string): ((name: string) => FolderDocument) | null => {
    if (!compileDecisionDocument(changed('variant', text)).ok) return null
    return (name) => ({ ...policy, name, body: { ...policy.body, policy: writeJson(changed(name, text)) } })
  }
  return {
    original: as(cypher),
    variants: conditionVariants(cypher).flatMap(({ kind, text, at, cypher: variant }): PolicyVariant[] => {
      const documentFor = as(variant)
      if (documentFor === null) return []
      const { line, column } = positionOf(cypher, at)
      const position = policy.locate(`policy.condition.cypher: line ${line}, column ${column}`)
      return [{ kind, text, position, documentFor }]
    }),
  }
}

function orNull<T>(ask: () => T): T | null {
  try {
    return ask()
  } catch (error) {
    if (error instanceof AuthorizerError) return null
    throw error
  }
}
