// Runs scenario files against the stored policies of a project: in memory, within limits, and without secrets or outgoing requests
// (docs/decisions/0054-scenarios-over-http.md).
import { AuthorizerError } from '../authorizer/authorizer-error.ts'
import type { ConfigReader, StoredDocument } from '../config/kind.ts'
import { queriesKind } from '../config/kind.ts'
import { OperationalError, type ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json/json.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { modelsKind } from '../model/stored-model.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import type { ScenarioRunAnswer, ScenarioRunRequest, ScenarioRuns } from '../policy/scenario-run.ts'
import { type FileDiagnostic, ProjectFolderError } from '../project/file-diagnostic.ts'
import type { FolderDocument, ProjectFolder } from '../project/project-folder.ts'
import { YamlFile } from '../project/yaml-file.ts'
import type { Settings } from '../settings.ts'
import { readScenarioText } from './load-scenario.ts'
import { runScenario } from './run.ts'
import type { ScenarioFile } from './scenario.ts'

/** Nodes and relationships of a scenario. */
const ITEMS_MAX = 2000
/** Expected answers of a scenario. */
const CHECKS_MAX = 500
/** Errors in one answer. */
const ISSUES_MAX = 50
/** Part of the time of a batch that a run takes at most. The rest is for the answer. */
const TIME_SHARE = 0.8

/** The name of the file in messages. */
const FILE = 'scenario'

/** Creates the runs. */
export function createScenarioRuns(documents: ConfigReader, settings: Settings): ScenarioRuns {
  return async ({ projectId }, request) => {
    try {
      return await run(projectDocuments(documents, projectId, request), request, settings)
    } catch (error) {
      const issues = issuesOf(error)
      if (issues === null) throw error
      return err({ kind: 'invalid', issues })
    }
  }
}

async function run(
  documents: readonly FolderDocument[],
  { scenario: text }: ScenarioRunRequest,
  settings: Settings,
): Promise<Result<ScenarioRunAnswer, ServiceError>> {
  const startedMs = performance.now()
  const project = usesProject(text) ? folderOf(documents) : null
  const scenario = readScenarioText(FILE, text, project)
  const excess = excessOf(scenario)
  if (excess !== null) return err({ kind: 'invalid', issues: [excess] })
  const endMs = startedMs + settings.batchTimeMs * TIME_SHARE
  let leftOut = 0
  const { checks, durationMs } = await runScenario(scenario, {
    settings,
    // A scenario cannot read the environment of the service.
    secrets: () => undefined,
    isSelected: () => {
      if (performance.now() < endMs) return true
      leftOut++
      return false
    },
  })
  return ok({
    passed: leftOut === 0 && checks.every(({ passed }) => passed),
    checks: checks.map(({ list, title, position, passed, expected, actual, details }) => ({
      ...{ list, title, line: position.line, column: position.column, passed, expected, actual },
      details: [...details],
    })),
    left_out: leftOut,
    policies: project?.documents.filter(({ kind }) => kind !== modelsKind).length ?? 0,
    duration_ms: durationMs,
  })
}

/** A file with policies and without the name of a project has all that it needs, as for `verdigraph test`. */
function usesProject(text: string): boolean {
  const yaml = new YamlFile(FILE, text)
  const data = yaml.errors.length > 0 ? null : yaml.value('plain')
  return !isJsonObject(data) || typeof data.project === 'string' || data.policies === undefined
}

function excessOf({ items, ...scenario }: ScenarioFile): string | null {
  const { nodes = [], relationships = [] } = items
  const count = nodes.length + relationships.length
  if (count > ITEMS_MAX) return `scenario: graph: expected at most ${ITEMS_MAX} elements, found ${count}`
  const { decisions, resources, subjects, actions, rows, explanations, refused } = scenario
  const checks = [decisions, resources, subjects, actions, rows, explanations, refused].flat().length
  return checks > CHECKS_MAX ? `scenario: expected at most ${CHECKS_MAX} checks, found ${checks}` : null
}

function folderOf(documents: readonly FolderDocument[]): ProjectFolder {
  const body = { region: 'local' }
  return { folder: '/', project: folderDocument('projects', 'project', body), documents, scenarios: [] }
}

/** The documents that decide and answer: policies before the queries that name them. */
function projectDocuments(
  reader: ConfigReader,
  projectId: string,
  { policies: proposed = [], draft = false }: ScenarioRunRequest,
): readonly FolderDocument[] {
  const statuses = draft ? ['ACTIVE', 'DRAFT'] : ['ACTIVE']
  const isUsed = ({ fields }: StoredDocument): boolean => statuses.includes(String(fields.status))
  const replaced = new Set(proposed.map(({ name }) => name))
  const stored = reader.inScope(policiesKind, projectId).filter((one) => isUsed(one) && !replaced.has(one.name))
  const policies = [
    ...stored.map(({ name, fields: { policy, tags } }) => policyOf(name, String(policy), tags)),
    ...proposed.map(({ name, policy, tags }) => policyOf(name, writeJson(policy), tags)),
  ]
  const names = new Set(policies.map(({ name }) => name))
  const queries = reader.inScope(queriesKind, projectId).flatMap((document) => {
    const policy = reader.get(policiesKind, String(document.fields.policy_id))?.name ?? ''
    if (!isUsed(document) || !names.has(policy)) return []
    const body = { query: document.fields.query, status: 'ACTIVE' }
    const references = [{ member: 'policy_id', kind: policiesKind, name: policy }]
    return [{ ...folderDocument(queriesKind, document.name, body), references }]
  })
  const models = reader
    .inScope(modelsKind, projectId)
    .map(({ name, fields: { model } }) => folderDocument(modelsKind, name, { model }))
  return [...models, ...policies, ...queries]
}

function policyOf(name: string, policy: string, tags: unknown): FolderDocument {
  return folderDocument(policiesKind, name, { policy, status: 'ACTIVE', ...(tags !== undefined && { tags }) })
}

function folderDocument(kind: string, name: string, body: Readonly<Record<string, unknown>>): FolderDocument {
  const label = kind === queriesKind ? 'knowledge query' : kind === modelsKind ? 'model' : 'policy'
  const file = `${label} ${name}`
  return {
    ...{ kind, name, file, body, references: [], secrets: [] },
    locate: () => ({ file, line: 0, column: 0 }),
    pathInFile: (path) => path,
  }
}

/** The errors of a scenario; null: another error. */
function issuesOf(error: unknown): readonly string[] | null {
  if (error instanceof ProjectFolderError) {
    const { length } = error.diagnostics
    const shown = error.diagnostics.slice(0, ISSUES_MAX).map(issueOf)
    return length > ISSUES_MAX ? [...shown, `scenario: ${length - ISSUES_MAX} more errors`] : shown
  }
  if (error instanceof AuthorizerError || error instanceof OperationalError) return [`scenario: ${error.message}`]
  return null
}

function issueOf({ file, line, column, message }: FileDiagnostic): string {
  // The file name of a stored document gets the path of the folder.
  const name = file.replace(/^.*\/(?=policy |knowledge query |model )/, '')
  return line === 0 ? `${name}: ${message}` : `${name}: line ${line}, column ${column}: ${message}`
}
