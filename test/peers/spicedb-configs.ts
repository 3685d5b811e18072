// The test configurations of SpiceDB's server: schema, relationships, assertions, and the subjects of objects (Apache-2.0 licence).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { RelationModel, RelationTuple } from '../../src/migration/relation-model.ts'
import { readSpiceDbRelationship } from '../../src/migration/spicedb/read-relationship.ts'
import { readSpiceDbSchema } from '../../src/migration/spicedb/read-schema.ts'
import type { PeerCase, PeerQuestion } from './peer-case.ts'

interface ConfigurationFile {
  readonly schema: string
  readonly relationships?: string
  readonly assertions?: Readonly<Record<'assertTrue' | 'assertFalse' | 'assertCaveated', readonly string[] | undefined>>
  readonly validation?: Readonly<Record<string, readonly string[] | null>> | null
}

/** The cases of a folder, one for each file. */
export function readConfigurations(folder: string): readonly PeerCase[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  return names.map((name): PeerCase => {
    const file = parse(readFileSync(join(folder, name), 'utf8')) as ConfigurationFile
    const id = name.slice(0, -'.yaml'.length)
    const model = readSpiceDbSchema(file.schema)
    const lines = (file.relationships ?? '').split('\n').map((line) => line.trim())
    const tuples = lines.filter((line) => line !== '' && !line.startsWith('//')).map(readSpiceDbRelationship)
    return {
      id,
      text: file.schema,
      model,
      tuples,
      questions: [...assertionsOf(id, file), ...subjectsOf(id, file, model)],
    }
  })
}

function* assertionsOf(id: string, { assertions }: ConfigurationFile): Generator<PeerQuestion> {
  const answers = [
    ['assertTrue', true],
    ['assertFalse', false],
    ['assertCaveated', 'unknown'],
  ] as const
  for (const [list, expected] of answers) {
    for (const [at, text] of (assertions?.[list] ?? []).entries()) {
      const [, relationship, context] = /^(.*?)(?:\s+with\s+(\{.*\}))?$/s.exec(text.trim())!
      const { subject, relation, object } = readSpiceDbRelationship(relationship!)
      yield {
        ...{ id: `${id}.${list}[${at}]`, kind: 'check', subject, relation, object, expected, contextual: [] },
        context: context === undefined ? {} : (JSON.parse(context) as Record<string, unknown>),
      }
    }
  }
}

/** All subjects of some relations: of each type, and of each form of usersets that is listed. */
function* subjectsOf(id: string, { validation }: ConfigurationFile, model: RelationModel): Generator<PeerQuestion> {
  for (const [relationText, lines] of Object.entries(validation ?? {})) {
    const [, type, objectId, relation] = /^([^:]+):([^#]+)#(.+)$/s.exec(relationText)!
    const listed = (lines ?? []).map(listedSubject)
    const forms = new Map<string, { readonly type: string; readonly relation: string | null }>()
    for (const of of model.types.keys()) forms.set(of, { type: of, relation: null })
    for (const { subject } of listed) forms.set(`${subject.type}#${subject.relation ?? ''}`, subject)
    for (const subject of listed) if (subject.subject.relation === null) forms.delete(`${subject.subject.type}#`)
    for (const form of forms.values()) {
      const own = listed.filter(({ subject }) => subject.type === form.type && subject.relation === form.relation)
      const known = own.filter(({ isUnknown }) => !isUnknown)
      yield {
        ...{
          id: `${id} ${relationText} ${form.type}${form.relation === null ? '' : `#${form.relation}`}`,
          kind: 'subjects',
        },
        ...{ relation: relation!, object: { type: type!, id: objectId! }, context: {}, contextual: [] },
        form: { type: form.type, relation: form.relation },
        expected: {
          ids: known.map(({ subject }) => subject.id),
          exceptions: own.flatMap(({ exceptions }) => exceptions),
          unknown: own.filter(({ isUnknown }) => isUnknown).map(({ subject }) => subject.id),
        },
      }
    }
  }
}

interface ListedSubject {
  readonly subject: RelationTuple['subject']
  readonly isUnknown: boolean
  readonly exceptions: readonly string[]
}

/** Reads `[group:eng#member[...] - {user:tom}] is <…>`; `[...]` marks what depends on a value that is not given. */
function listedSubject(line: string): ListedSubject {
  const found = /^\[([^:]+):([^#\]\s{[]+)(?:#([^\]\s[{]+))?(\[\.\.\.\])?(?:\s*-\s*\{([^}]*)\})?\]/.exec(line.trim())
  if (found === null) throw new Error(`not a subject: ${line}`)
  const [, type, id, relation, unknown, excluded = ''] = found
  const exceptions = excluded.split(',').map((one) =>
    one
      .trim()
      .replace(/\[\.\.\.\]$/, '')
      .replace(/^.*:/, ''),
  )
  return {
    subject: { type: type!, id: id!, relation: relation === undefined || relation === '...' ? null : relation },
    isUnknown: unknown !== undefined,
    exceptions: exceptions.filter((one) => one !== ''),
  }
}
