// The restore drill: restores a backup to a temporary folder, reads every database, opens its secrets with the master key, asks sample
// questions, and removes the folder. It proves that this backup can be restored with the keys at hand.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { issueAdminToken } from '../../app/configuration.ts'
import type { Authorizer, EvaluationInput } from '../../authorizer/authorizer.ts'
import { AuthorizerError } from '../../authorizer/authorizer-error.ts'
import { openFolderAuthorizer } from '../../authorizer/folder-authorizer.ts'
import type { Manifest } from '../../backup/archive.ts'
import { requireSpace } from '../../backup/backup.ts'
import type { BackupSource } from '../../backup/backup-source.ts'
import { restore } from '../../backup/restore.ts'
import { verifyDatabases } from '../../backup/verify-backup.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { MASTER_KEY_FILE } from '../../kernel/folder/data-folder.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { createStaging } from '../../transfer/files/staging.ts'
import { type FiledQuestion, readQuestionFile } from '../ask/question-file.ts'

/** Options of a drill. */
interface DrillRequest {
  readonly source: BackupSource
  readonly settings: Settings
  /** An existing folder for the restored copy. */
  readonly workFolder: string
  /** The text of the master key; null: it is in the environment, or unknown. */
  readonly masterKey: string | null
  /** Whether there is a master key, here or in the environment. */
  readonly hasMasterKey: boolean
  /** Those of a file, see `questionsOf`; null: they are sampled. */
  readonly questions: readonly FiledQuestion[] | null
  readonly clock: Clock
  readonly progress: (step: DrillStep['step'], share: number) => void
}

/** One step of a drill. */
export interface DrillStep {
  readonly step: 'restore' | 'verify' | 'master key' | 'questions'
  readonly outcome: 'ok' | 'failed' | 'skipped'
  readonly detail: string
}

/** The questions of a drill. `given`: those of a file; `sampled`: it was only required that there is an answer. */
interface DrillAnswers {
  readonly kind: 'given' | 'sampled'
  readonly asked: number
  /** Answers that were compared with an expected decision. */
  readonly compared: number
  readonly granted: number
  readonly denied: number
  /** Not asked, because the policy needs parameters that cannot be sampled. */
  readonly left_out: number
  /** Active policies of which no question could be sampled, because the backup has no node of their types. */
  readonly without_nodes: number
  /** Wrong or failed answers, at most 20. */
  readonly faults: readonly string[]
}

/** The report of a drill. */
export interface DrillReport {
  readonly backup: string
  /** `unproven`: it was restored, but none of the questions to its policies could be asked. */
  readonly outcome: 'proven' | 'unproven' | 'failed'
  /** The moment of the backup; null: it could not be read. */
  readonly made_at: string | null
  readonly start_time: string
  readonly end_time: string
  readonly steps: readonly DrillStep[]
  readonly answers: DrillAnswers | null
}

const WORK_PREFIX = '.verdigraph-drill-'
const QUESTIONS_MAX = 10_000
const FAULTS_MAX = 20
/** Sampled questions: nodes of each type, questions of each policy, and in total. */
const NODES_PER_TYPE = 3
const QUESTIONS_PER_POLICY = 9
const SAMPLED_MAX = 500

/** Reads a file of questions. Throws OperationalError with the lines that are wrong. */
export function questionsOf(path: string): readonly FiledQuestion[] {
  const read = readQuestionFile(path)
  if (!read.ok) throw new OperationalError(`the questions of the drill cannot be used: ${read.error.join('; ')}`)
  if (read.value.length > QUESTIONS_MAX)
    throw new OperationalError(`${path} contains more than ${QUESTIONS_MAX} questions`)
  return read.value
}

/** Runs a drill. A backup that cannot be restored is a report, and no rejection. */
export async function runDrill(request: DrillRequest): Promise<DrillReport> {
  const { source, workFolder, clock, progress, questions } = request
  const startMs = clock.now()
  const steps: DrillStep[] = []
  let manifest: Manifest | null = null
  let answers: DrillAnswers | null = null
  // A compacted copy of a database is not larger than its part of the archive.
  requireSpace(workFolder, source.bytes)
  const staging = createStaging(workFolder, WORK_PREFIX)
  const folder = join(staging.folder, 'data')
  const step = async <T>(
    name: DrillStep['step'],
    run: () => Promise<{ detail: string; value: T }>,
  ): Promise<T | null> => {
    progress(name, 0)
    try {
      const { detail, value } = await run()
      steps.push({ step: name, outcome: 'ok', detail })
      return value
    } catch (failure) {
      const reason = failure instanceof Error ? failure.message : String(failure)
      steps.push({ step: name, outcome: 'failed', detail: reason.replaceAll(staging.folder, 'the restored folder') })
      return null
    }
  }
  try {
    manifest = await step('restore', async () => {
      const value = await restore({
        from: source,
        dataDir: folder,
        progress: (done, total) => progress('restore', total === 0 ? 1 : done / total),
      })
      return { detail: `${value.members.length} files, ${countOf(value.projects.length, 'project')}`, value }
    })
    if (manifest !== null) {
      const restored = manifest
      await step('verify', async () => {
        await verifyDatabases(folder, restored, (share) => progress('verify', share))
        return { detail: 'every stored value was read', value: true }
      })
      steps.push(await masterKeyStep(request, folder, progress))
      const found: { answers: DrillAnswers | null } = { answers: null }
      await step('questions', async () => {
        found.answers = await ask(request.settings, folder, restored.projects, questions)
        const { faults } = found.answers
        if (faults.length > 0) throw new OperationalError(faults[0] as string)
        return { detail: describeAnswers(found.answers), value: true }
      })
      if (found.answers !== null && isUnasked(found.answers))
        steps.push({ ...(steps.pop() as DrillStep), outcome: 'skipped' })
      answers = found.answers
    }
  } finally {
    staging.remove()
  }
  return {
    backup: source.label,
    outcome: steps.some(({ outcome }) => outcome === 'failed')
      ? 'failed'
      : answers !== null && isUnasked(answers)
        ? 'unproven'
        : 'proven',
    made_at: manifest?.made_at ?? null,
    start_time: new Date(startMs).toISOString(),
    end_time: new Date(clock.now()).toISOString(),
    steps,
    answers,
  }
}

/** A token of the administrator needs a secret, which only the right key opens. */
async function masterKeyStep(
  { settings, masterKey, hasMasterKey }: DrillRequest,
  folder: string,
  progress: DrillRequest['progress'],
): Promise<DrillStep> {
  const step = 'master key'
  progress(step, 0)
  if (!hasMasterKey)
    return { step, outcome: 'skipped', detail: 'no master key was given, so the secrets were not opened' }
  try {
    if (masterKey !== null) writeFileSync(join(folder, MASTER_KEY_FILE), masterKey, { mode: 0o600 })
    await issueAdminToken({ ...settings, dataDir: folder }, 120)
    return { step, outcome: 'ok', detail: 'opens the secrets of the backup' }
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : String(failure)
    return { step, outcome: 'failed', detail: reason.replaceAll(dirname(folder), 'the restored folder') }
  }
}

/** `questions`: null: they are sampled from each project. */
async function ask(
  settings: Settings,
  folder: string,
  projects: readonly string[],
  questions: readonly FiledQuestion[] | null,
): Promise<DrillAnswers> {
  const tally = new AnswerTally(questions === null ? 'sampled' : 'given')
  if (questions === null) {
    for (const project of projects)
      await withProject(settings, folder, project, (authorizer) => askSampled(authorizer, project, tally))
    return tally.answers()
  }
  const byProject = Map.groupBy(questions, ({ project }) => project)
  for (const [project, of] of byProject) {
    await withProject(settings, folder, project, (authorizer) => {
      for (const { request, expected } of of) tally.ask(authorizer, request, project, expected)
    })
  }
  return tally.answers()
}

async function withProject(
  settings: Settings,
  folder: string,
  projectName: string | null,
  use: (authorizer: Authorizer) => void,
): Promise<void> {
  const options = { projectName, secrets: () => undefined, report: () => undefined, settings }
  const authorizer = await openFolderAuthorizer(folder, null, options)
  try {
    use(authorizer)
  } finally {
    await authorizer.close()
  }
}

/** Asks each active policy about the first nodes of its types. */
function askSampled(authorizer: Authorizer, project: string, tally: AnswerTally): void {
  const nodes = new Map<string, readonly string[]>()
  const idsOf = (type: string): readonly string[] => {
    const found = nodes.get(type) ?? sampleIds(authorizer, type)
    nodes.set(type, found)
    return found
  }
  for (const { policy, status } of authorizer.policies()) {
    if (status !== 'ACTIVE') continue
    const { subject, actions, resource } = JSON.parse(policy) as SampledPolicy
    // A policy of knowledge queries.
    if (actions === undefined || resource === undefined) continue
    const asked = actions.flatMap((name) =>
      idsOf(subject.type).flatMap((subjectId) =>
        idsOf(resource.type).map((resourceId) => ({
          subject: { type: subject.type, id: subjectId },
          action: { name },
          resource: { type: resource.type, id: resourceId },
        })),
      ),
    )
    if (asked.length === 0) tally.countWithoutNodes()
    for (const question of asked.slice(0, QUESTIONS_PER_POLICY))
      if (tally.count < SAMPLED_MAX) tally.ask(authorizer, question, project, null)
  }
}

interface SampledPolicy {
  readonly subject: { readonly type: string }
  readonly actions?: readonly string[]
  readonly resource?: { readonly type: string }
}

function sampleIds(authorizer: Authorizer, type: string): readonly string[] {
  const query = `MATCH (n:\`${type.replaceAll('`', '``')}\`) RETURN n LIMIT ${NODES_PER_TYPE}`
  return authorizer.query({ query }).rows.map(([node]) => (node as { external_id: string }).external_id)
}

/** Counts answers and faults. */
class AnswerTally {
  private readonly kind: DrillAnswers['kind']
  private granted = 0
  private denied = 0
  private compared = 0
  private leftOut = 0
  private withoutNodes = 0
  private readonly faults: string[] = []

  constructor(kind: DrillAnswers['kind']) {
    this.kind = kind
  }

  get count(): number {
    return this.granted + this.denied + this.leftOut
  }

  /** `expected`: null: any decision. */
  ask(authorizer: Authorizer, question: EvaluationInput, project: string | null, expected: boolean | null): void {
    const { subject, action, resource } = question
    const text = `${subject.type}:${subject.id} ${action.name} ${resource.type}:${resource.id}${project === null ? '' : ` in ${project}`}`
    try {
      const { decision } = authorizer.evaluate(question)
      if (decision) this.granted++
      else this.denied++
      if (expected !== null) this.compared++
      if (expected !== null && decision !== expected)
        this.fault(`${text}: expected ${nameOf(expected)}, the backup answers ${nameOf(decision)}`)
    } catch (failure) {
      // A parameter of the policy is missing: it cannot be sampled.
      if (this.kind === 'sampled' && failure instanceof AuthorizerError && failure.status < 500) this.leftOut++
      else this.fault(`${text}: ${(failure as Error).message}`)
    }
  }

  /** Counts a policy that has no question. */
  countWithoutNodes(): void {
    this.withoutNodes++
  }

  answers(): DrillAnswers {
    const { kind, granted, denied, compared, leftOut, withoutNodes, faults } = this
    const asked = granted + denied
    return { kind, asked, compared, granted, denied, left_out: leftOut, without_nodes: withoutNodes, faults }
  }

  private fault(text: string): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push(text)
  }
}

function nameOf(decision: boolean): string {
  return decision ? 'granted' : 'denied'
}

/** Whether there are policies, and no question could be asked. */
function isUnasked({ asked, left_out, without_nodes, faults }: DrillAnswers): boolean {
  return asked === 0 && left_out + without_nodes > 0 && faults.length === 0
}

function describeAnswers(answers: DrillAnswers): string {
  const { kind, asked, compared, granted, denied, left_out, without_nodes } = answers
  const unsampled = [
    ...(left_out === 0 ? [] : [`${left_out} left out because their policies need parameters`]),
    ...(without_nodes === 0 ? [] : [`${countOf(without_nodes, 'policy', 'policies')} without nodes to ask about`]),
  ]
  if (isUnasked(answers))
    return `no question was asked: ${unsampled.join(', ')}; name a file with questions (\`--questions FILE\`, or the setting \`drill_questions\`)`
  const counts = `${countOf(asked, 'question')}: ${granted} granted, ${denied} denied`
  const uncompared = 'so the answers are not compared with anything'
  if (kind === 'given')
    return compared === 0
      ? `${counts}; without expected decisions, ${uncompared}`
      : `${counts}; ${compared === asked ? 'all' : `${compared} compared, all`} as expected`
  return `${[counts, ...unsampled].join(', ')}; sampled, ${uncompared}`
}

function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}
