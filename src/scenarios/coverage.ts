// Finds what the decisions of a scenario have not reached: policies, operators of their plans, and conditions of their WHERE clauses.
import { positionOf } from '../../grammar/diagnostic.ts'
import type { Authorizer, CallOptions, EvaluationInput, ExplainedStep } from '../authorizer/authorizer.ts'
import { AuthorizerError } from '../authorizer/authorizer-error.ts'
import { openProjectAuthorizer } from '../authorizer/memory-authorizer.ts'
import { parseJson, writeJson } from '../kernel/json.ts'
import { isJsonObject } from '../kernel/json-kind.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { compileDecisionDocument } from '../policy/compile-policy.ts'
import { isContextPolicy } from '../policy/policy-header.ts'
import type { FilePosition } from '../project/file-diagnostic.ts'
import type { FolderDocument } from '../project/project-folder.ts'
import type { SecretLookup } from '../project/secret-references.ts'
import { conditionVariants } from './condition-variants.ts'
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

/** What the decisions reached of one policy. */
export interface PolicyCoverage {
  readonly name: string
  readonly position: FilePosition
  /** Decisions for its types and one of its actions. */
  readonly asked: number
  /** Decisions that it granted. */
  readonly granted: number
  readonly operators: readonly CoveredOperator[]
  readonly conditions: readonly CoveredCondition[]
}

/** What the decisions of a scenario reached. */
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
  private readonly policies: readonly FolderDocument[]
  private readonly recorded = new Map<string, RecordedPolicy>()

  constructor(scenario: ScenarioFile) {
    this.scenario = scenario
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
      if (outcome === 'granted') policy.granted += 1
      if (plan !== undefined) recordStep(policy.operators, plan, '')
    }
  }

  /** Compares each policy with its variants. */
  async result(secrets: SecretLookup): Promise<ScenarioCoverage> {
    const variants = this.policies.flatMap(variantsOf)
    const conditions = await this.replay(variants, secrets)
    return {
      policies: this.policies.map((document) => {
        const { decisions = [], granted = 0, operators = new Map() } = this.recorded.get(document.name) ?? {}
        return {
          name: document.name,
          position: document.locate('policy'),
          asked: decisions.length,
          granted,
          operators: [...operators.values()].map(({ operator, detail, rows }) => ({
            operator,
            detail,
            isReached: rows > 0,
          })),
          conditions: variants.flatMap((variant, i) =>
            variant.policy === document ? [conditions[i] as CoveredCondition] : [],
          ),
        }
      }),
    }
  }

  /** Asks the decisions of each policy of its variants, each of which is a policy for an action of its own. */
  private async replay(
    variants: readonly PolicyVariant[],
    secrets: SecretLookup,
  ): Promise<readonly CoveredCondition[]> {
    if (variants.length === 0) return []
    const { project, items } = this.scenario
    const documents = [...new Set(variants.flatMap(({ original, document }) => [original, document]))]
    const authorizer = await openProjectAuthorizer({ ...project, documents }, null, {
      secrets,
      report: () => undefined,
    })
    try {
      await authorizer.write(items)
      return variants.map(({ policy, document, original, kind, text, position }) => {
        const decisions = this.recorded.get(policy.name)?.decisions ?? []
        const grants = (name: string, { request, options }: CoveredDecision): boolean =>
          orNull(() => authorizer.evaluate({ ...request, action: { ...request.action, name } }, options))?.decision ===
          true
        const isTested =
          kind === 'alone'
            ? decisions.some((one) => grants(document.name, one))
            : decisions.some((one) => grants(document.name, one) && !grants(original.name, one))
        const problem = kind === 'alone' ? ('never true' as const) : ('never false' as const)
        return { text, position, problem: isTested ? null : problem }
      })
    } finally {
      await authorizer.close()
    }
  }
}

function recordStep(operators: RecordedPolicy['operators'], step: ExplainedStep, path: string): void {
  const { operator, detail, rows, children } = step
  const known = operators.get(path)
  operators.set(path, { operator, detail, rows: rows + (known?.rows ?? 0) })
  for (const [i, child] of children.entries()) recordStep(operators, child, `${path}.${i}`)
}

interface PolicyVariant {
  readonly policy: FolderDocument
  readonly document: FolderDocument
  /** The policy itself, under an action of its own. */
  readonly original: FolderDocument
  readonly kind: 'without' | 'alone'
  readonly text: string
  readonly position: FilePosition
}

/** The variants of a policy that compile. */
function variantsOf(policy: FolderDocument, index: number): readonly PolicyVariant[] {
  const json = parseJson(policy.body.policy as string, 'integers')
  if (!json.ok || !isJsonObject(json.value) || !isJsonObject(json.value.condition)) return []
  const { value } = json
  const { condition } = value
  if (!isJsonObject(condition) || typeof condition.cypher !== 'string') return []
  const { cypher } = condition
  const as = (name: string, text: string): FolderDocument | null => {
    const changed = { ...value, actions: [name], condition: { ...condition, cypher: text } }
    if (!compileDecisionDocument(changed).ok) return null
    return { ...policy, name, body: { ...policy.body, policy: writeJson(changed) } }
  }
  const original = as(`p${index}-original`, cypher)
  if (original === null) return []
  return conditionVariants(cypher).flatMap(({ kind, text, at, cypher: changed }, i): PolicyVariant[] => {
    const document = as(`p${index}-v${i}`, changed)
    if (document === null) return []
    const { line, column } = positionOf(cypher, at)
    const position = policy.locate(`policy.condition.cypher: line ${line}, column ${column}`)
    return [{ policy, document, original, kind, text, position }]
  })
}

function orNull<T>(ask: () => T): T | null {
  try {
    return ask()
  } catch (error) {
    if (error instanceof AuthorizerError) return null
    throw error
  }
}
