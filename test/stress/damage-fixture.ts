// A graph in which a missing element decides as often as an existing one, and the questions about it.
import { Graph } from '../../src/engine/graph.ts'
import { OperationalError, ThrownServiceError } from '../../src/kernel/errors.ts'
import { openStore } from '../../src/store/graph/open-store.ts'

const PERSONS = 1200
const DOCUMENTS = 400
const TEAMS = 40

const person = (i: number): [string, string] => ['Person', `person-${i}`]
const document = (i: number): [string, string] => ['Document', `document-${i}`]
const keyOf = ([type, externalId]: [string, string]) => ({ type, externalId })

/** Written in many batches, so that lists, records and labels are on pages of different age. */
export async function writeWorld(folder: string): Promise<void> {
  const store = openStore(folder, { sync: false })
  const graph = new Graph(store)
  for (let from = 0; from < PERSONS; from += 100) {
    await graph.write((batch) => {
      for (let i = from; i < from + 100; i++) {
        const properties = [
          { name: 'level', value: i % 7 },
          { name: 'email', value: `person-${i}@example.com` },
          ...(i % 9 === 0 ? [{ name: 'suspended', value: true }] : []),
        ]
        batch.upsertNode({ ...keyOf(person(i)), labels: i % 13 === 0 ? ['Guest'] : [], properties })
      }
    })
  }
  await graph.write((batch) => {
    for (let i = 0; i < TEAMS; i++) batch.upsertNode({ type: 'Team', externalId: `team-${i}` })
    for (let i = 0; i < DOCUMENTS; i++) {
      const text = i % 20 === 0 ? 'x'.repeat(6000) : 'short'
      batch.upsertNode({ ...keyOf(document(i)), properties: [{ name: 'text', value: text }] })
    }
  })
  const join = async (count: number, pair: (i: number) => [[string, string], string, [string, string]]) => {
    for (let from = 0; from < count; from += 300) {
      await graph.write((batch) => {
        for (let i = from; i < Math.min(count, from + 300); i++) {
          const [source, type, target] = pair(i)
          batch.upsertRelationship({ source: keyOf(source), type, target: keyOf(target) })
        }
      })
    }
  }
  await join(PERSONS, (i) => [person(i), 'MEMBER', ['Team', `team-${i % TEAMS}`]])
  await join(DOCUMENTS, (i) => [['Team', `team-${(i * 3) % TEAMS}`], 'OWNS', document(i)])
  await join(PERSONS, (i) => [person(i), 'BANNED_FROM', document((i * 7) % DOCUMENTS)])
  // Two nodes with more relationships than a chunk holds, and one between them.
  await join(PERSONS, (i) => [person(i), 'FOLLOWS', person(0)])
  await join(PERSONS, (i) => [person(1), 'FOLLOWS', person(i)])
  await store.close()
}

const CONDITIONS: Readonly<Record<string, string>> = {
  member: 'MATCH (subject:Person)-[:MEMBER]->(:Team)-[:OWNS]->(resource:Document)',
  notBanned: 'MATCH (subject:Person), (resource:Document) WHERE NOT (subject)-[:BANNED_FROM]->(resource)',
  noTeam:
    'MATCH (subject:Person), (resource:Document) WHERE NOT EXISTS { (subject)-[:MEMBER]->(:Team)-[:OWNS]->(resource) }',
  notSuspended: 'MATCH (subject:Person), (resource:Document) WHERE coalesce(subject.suspended, false) = false',
  notGuest: 'MATCH (subject:Person), (resource:Document) WHERE NOT subject:Guest',
  nobodyOfThatAddress:
    'MATCH (subject:Person), (resource:Document) WHERE NOT EXISTS { MATCH (p:Person {email: $email}) WHERE p.level = subject.level }',
  unknownPerson:
    'MATCH (subject:Person), (resource:Document) WHERE NOT EXISTS { MATCH (p:Person {external_id: $name}) }',
  follows: 'MATCH (subject:Person)-[:FOLLOWS]->(resource:Person)',
  doesNotFollow: 'MATCH (subject:Person), (resource:Person) WHERE NOT (subject)-[:FOLLOWS]->(resource)',
}

const SEARCHES = ['member', 'noTeam', 'notGuest', 'notSuspended', 'follows'] as const

/** By question: the answer, or the error. */
export type DamageAnswers = Readonly<Record<string, string>>

/**
 * Asks all questions, for every `step`th person. Prints a line for each answer, since the process may end at any
 * question.
 */
export async function ask(
  folder: string,
  step: number,
  tell: (question: string, answer: string) => void,
): Promise<void> {
  const told = (question: string, answer: () => unknown): void => {
    try {
      tell(question, JSON.stringify(answer()))
    } catch (fault) {
      tell(question, faultText(fault))
    }
  }
  let store: ReturnType<typeof openStore> | null = null
  told('open', () => {
    store = openStore(folder, { readOnly: true })
    return true
  })
  if (store === null) return
  const graph = new Graph(store)
  const conditions = new Map(Object.entries(CONDITIONS).map(([name, text]) => [name, graph.prepare(text)]))
  for (let i = 0; i < PERSONS; i += step) {
    for (const [name, condition] of conditions) {
      const isPerson = name.toLowerCase().includes('follow')
      // Every other person is banned from the resource; persons 0 and 1 have the long lists.
      const subject = isPerson && i % 3 === 0 ? person(1) : person(i)
      const resource = isPerson ? person(i % 2 === 0 ? 0 : i) : document(((i % 2 === 0 ? i : i + 1) * 7) % DOCUMENTS)
      const parameters = {
        email: i % 2 === 0 ? `person-${i}@example.com` : `nobody-${i}`,
        name: i % 2 === 0 ? `person-${i}` : `nobody-${i}`,
      }
      told(`${name} ${i}`, () => condition.exists({ subject, resource }, parameters))
    }
  }
  for (const name of SEARCHES) {
    const condition = conditions.get(name)!
    const target = name === 'follows' ? person(0) : document(7)
    told(`subjects ${name}`, () => condition.find('subject', { resource: target }))
    told(`resources ${name}`, () => condition.find('resource', { subject: person(name === 'follows' ? 1 : 14) }))
  }
  await (store as ReturnType<typeof openStore>).close()
}

/** `told: ` and the message of an error for an operator or a caller; `failed: ` and that of any other. */
export function faultText(fault: unknown): string {
  const typed = fault instanceof ThrownServiceError || fault instanceof OperationalError
  return `${typed ? 'told' : 'failed'}: ${fault instanceof Error ? fault.message : String(fault)}`
}

if (import.meta.main) {
  const [folder = '', step = '1'] = process.argv.slice(2)
  await ask(folder, Number(step), (question, answer) => console.log(`${question}\t${answer}`))
  console.log('done\t')
}
