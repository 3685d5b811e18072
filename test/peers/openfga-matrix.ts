// The suites of OpenFGA's server: models, tuples and assertions of check, list-objects and list-users (MIT licence of its module).
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { readOpenFgaModel } from '../../src/migration/openfga/read-model.ts'
import {
  type OpenFgaTuple,
  readOpenFgaObject,
  readOpenFgaSubject,
  readOpenFgaTuple,
} from '../../src/migration/openfga/read-tuple.ts'
import type { RelationTuple } from '../../src/migration/relation-model.ts'
import type { PeerCase, PeerQuestion } from './peer-case.ts'

interface MatrixFile {
  readonly tests: readonly { readonly name: string; readonly stages: readonly MatrixStage[] }[]
}

interface MatrixStage {
  readonly model: string
  readonly tuples?: readonly OpenFgaTuple[]
  readonly checkAssertions?: readonly (Assertion & { readonly tuple: OpenFgaTuple; readonly expectation?: boolean })[]
  readonly listObjectsAssertions?: readonly (Assertion & {
    readonly request: AssertionRequest & { readonly user: string; readonly type: string }
    readonly expectation?: readonly string[] | null
  })[]
  readonly listUsersAssertions?: readonly (Assertion & {
    readonly request: AssertionRequest & { readonly filters: readonly string[]; readonly object: string }
    readonly expectation?: readonly string[] | null
  })[]
}

interface Assertion {
  readonly context?: Readonly<Record<string, unknown>>
  readonly contextualTuples?: readonly OpenFgaTuple[]
  readonly errorCode?: number
}

interface AssertionRequest {
  readonly relation: string
  readonly context?: Readonly<Record<string, unknown>>
}

/** The cases of one file, one for each stage: the tuples of earlier stages stay. */
export function readMatrix(path: string): readonly PeerCase[] {
  const { tests } = parse(readFileSync(path, 'utf8')) as MatrixFile
  return tests.flatMap(({ name, stages }) => {
    let tuples: readonly RelationTuple[] = []
    return stages.map((stage, at): PeerCase => {
      const id = stages.length === 1 ? name : `${name}[${at}]`
      tuples = [...tuples, ...(stage.tuples ?? []).map(readOpenFgaTuple)]
      return {
        id,
        text: stage.model,
        model: readOpenFgaModel(stage.model),
        tuples,
        questions: [...questionsOf(id, stage)],
      }
    })
  })
}

function* questionsOf(id: string, stage: MatrixStage): Generator<PeerQuestion> {
  const common = (assertion: Assertion, request?: AssertionRequest) => ({
    context: assertion.context ?? request?.context ?? {},
    contextual: (assertion.contextualTuples ?? []).map(readOpenFgaTuple),
  })
  for (const [at, one] of (stage.checkAssertions ?? []).entries()) {
    const { user, relation, object } = one.tuple
    yield {
      ...{ id: `${id}.check[${at}]`, kind: 'check', ...common(one), relation },
      ...{ subject: readOpenFgaSubject(user), object: readOpenFgaObject(object) },
      expected: one.errorCode ? 'error' : (one.expectation ?? false),
    }
  }
  for (const [at, one] of (stage.listObjectsAssertions ?? []).entries()) {
    const { user, type, relation } = one.request
    yield {
      ...{ id: `${id}.listObjects[${at}]`, kind: 'objects', ...common(one, one.request), relation },
      ...{ subject: readOpenFgaSubject(user), type },
      expected: one.errorCode ? 'error' : (one.expectation ?? []).map((object) => readOpenFgaObject(object).id),
    }
  }
  for (const [at, one] of (stage.listUsersAssertions ?? []).entries()) {
    const { filters, object, relation } = one.request
    for (const filter of filters) {
      const [type = '', of = null] = filter.split('#')
      const expected = (one.expectation ?? []).map(readOpenFgaSubject)
      const ids = expected
        .filter((subject) => subject.type === type && subject.relation === of)
        .map((subject) => subject.id)
      yield {
        ...{ id: `${id}.listUsers[${at}] ${filter}`, kind: 'subjects', ...common(one, one.request), relation },
        ...{ form: { type, relation: of }, object: readOpenFgaObject(object) },
        expected: one.errorCode ? 'error' : { ids, exceptions: [], unknown: [] },
      }
    }
  }
}
