// The language server over its standard input and output, with the client of the protocol that editors use.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  CompletionRequest,
  createProtocolConnection,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  DocumentFormattingRequest,
  ExitNotification,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  type ProtocolConnection,
  PublishDiagnosticsNotification,
  type PublishDiagnosticsParams,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver-protocol/node'
import { bin, ownEnvironment } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder()
const file = join(folder, 'policies', 'drive.policy.yaml')
const uri = pathToFileURL(file).href
const otherUri = pathToFileURL(join(folder, 'policies', 'all.policy.yaml')).href

const head = 'subject: Person\nactions: [drive]\nresource: Car\ncypher: |\n'
const schema = {
  graph: {
    directed: true,
    metadata: { created_at: '', updated_at: '' },
    nodes: Object.fromEntries(
      ['Person', 'Car'].map((type) => [
        type,
        {
          metadata: {
            node_count: 1,
            properties: { wheels: { count: 1, types: [], metadata: {} } },
            system_labels: [],
            user_defined_labels: [{ name: 'Fast', count: 1 }],
          },
        },
      ]),
    ),
    edges: [
      { source: 'Person', target: 'Car', relation: 'OWNS', directed: true, metadata: { count: 1, properties: {} } },
    ],
  },
}

let child: ChildProcess
let client: ProtocolConnection
const published: PublishDiagnosticsParams[] = []

/** Resolves with diagnostics of a file that fulfil a condition. */
async function diagnostics(
  of: string,
  condition: (params: PublishDiagnosticsParams) => boolean,
): Promise<PublishDiagnosticsParams['diagnostics']> {
  const found = () => published.findLast((one) => one.uri === of && condition(one))
  await expect.poll(found).toBeDefined()
  return found()!.diagnostics
}

let version = 1
async function change(text: string): Promise<void> {
  published.length = 0
  version += 1
  await client.sendNotification(DidChangeTextDocumentNotification.type, {
    textDocument: { uri, version },
    contentChanges: [{ text }],
  })
}

beforeAll(async () => {
  mkdirSync(join(folder, 'policies'))
  writeFileSync(join(folder, 'policies', 'all.policy.yaml'), `${head}  MATCH (subject)-[:OWNS]->(resource)\n`)
  writeFileSync(join(folder, 'schema.json'), JSON.stringify(schema))
  child = spawn(bin, ['lsp', '--schema', join(folder, 'schema.json')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: ownEnvironment,
  })
  client = createProtocolConnection(new StreamMessageReader(child.stdout!), new StreamMessageWriter(child.stdin!))
  client.onNotification(PublishDiagnosticsNotification.type, (params) => void published.push(params))
  client.listen()
  const { capabilities, serverInfo } = await client.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: pathToFileURL(folder).href,
    capabilities: {},
    workspaceFolders: null,
  })
  expect(serverInfo?.name).toBe('verdigraph')
  expect(capabilities).toMatchObject({ hoverProvider: true, documentFormattingProvider: true })
  await client.sendNotification(InitializedNotification.type, {})
  const text = `${head}  MATCH (subject)-[:OWNZ]->(resource)\n`
  await client.sendNotification(DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: 'yaml', version, text },
  })
})
afterAll(removeTemporaryFolders)

test('publishes the findings of open files, and of all policies of the folder together', async () => {
  const unknown = await diagnostics(uri, ({ diagnostics: found }) =>
    found.some(({ code }) => code === 'unknown-relationship-type'),
  )
  expect(unknown).toEqual([
    {
      range: { start: { line: 4, character: 20 }, end: { line: 4, character: 24 } },
      severity: 2,
      code: 'unknown-relationship-type',
      source: 'verdigraph',
      message: 'no relationship of type `OWNZ` was ever captured; did you mean `[:OWNS]`?',
    },
  ])
  await change(`${head}  MATCH (subject)-[:OWNS]->(resource {wheels: 4})\n`)
  // The findings of the text before may still arrive.
  const covered = await diagnostics(uri, ({ diagnostics: found }) =>
    found.some(({ code }) => code === 'covered-policy'),
  )
  expect(covered.map(({ code, severity }) => [code, severity])).toEqual([['covered-policy', 2]])
  await change(`${head}  MATCH (subject)<-[:OWNS]-(resource)\n`)
  expect(await diagnostics(uri, ({ diagnostics: found }) => found.length === 0)).toEqual([])
  await change('subject: [\n')
  expect(
    (await diagnostics(uri, ({ diagnostics: found }) => found.length > 0)).map(({ severity }) => severity),
  ).toEqual([1])
  expect(published.some((one) => one.uri === otherUri && one.diagnostics.length > 0)).toBe(false)
})

/** The labels of the completions at the mark `|`. */
async function completions(cypher: string): Promise<string[]> {
  await change(`${head}  ${cypher.replace('|', '')}\n`)
  const position = { line: 4, character: 2 + cypher.indexOf('|') }
  const found = await client.sendRequest(CompletionRequest.type, { textDocument: { uri }, position })
  return (Array.isArray(found) ? found : (found?.items ?? [])).map(({ label }) => label)
}

test('completes names of the data, parameters, variables, keywords and functions', async () => {
  expect((await completions('MATCH (subject:|')).sort()).toEqual(['Car', 'Fast', 'Person'])
  expect((await completions('MATCH (subject:Pe|)-[:OWNS]->(resource)')).sort()).toEqual(['Car', 'Fast', 'Person'])
  expect(await completions('MATCH (subject)-[:|')).toEqual(['OWNS'])
  expect(await completions('MATCH (subject)-->(resource) WHERE resource.|')).toEqual(
    expect.arrayContaining(['wheels', 'external_id']),
  )
  expect(await completions('MATCH (subject {|')).toEqual(expect.arrayContaining(['wheels', 'external_id']))
  expect(await completions('MATCH (subject)-->(resource) WHERE $tok|')).toEqual(expect.arrayContaining(['$token']))
  expect(await completions('MATCH (subject)-->(car:Car) WHERE |')).toEqual(
    expect.arrayContaining(['car', 'EXISTS', 'size']),
  )
  expect(await completions("MATCH (subject {name: 'a:|")).toEqual([])
})

test('shows the name and the plan at a place, and formats the Cypher', async () => {
  const text = `${head}  match (subject)-[:OWNS]->(resource:Car) where resource.wheels>2 // some\n`
  await change(text)
  const position = { line: 4, character: 38 }
  const hover = await client.sendRequest(HoverRequest.type, { textDocument: { uri }, position })
  const { value } = hover!.contents as { value: string }
  expect(value).toContain('label `Car`: in the data')
  expect(value).toMatch(/Plan of a decision\n\n```text\n[\s\S]*OWNS/)
  const outside = await client.sendRequest(HoverRequest.type, {
    textDocument: { uri },
    position: { line: 0, character: 2 },
  })
  expect(outside).toBeNull()
  const edits = await client.sendRequest(DocumentFormattingRequest.type, {
    textDocument: { uri },
    options: { tabSize: 2, insertSpaces: true },
  })
  expect(edits?.map(({ newText }) => newText)).toEqual([
    '|\n  MATCH (subject)-[:OWNS]->(resource:Car) WHERE resource.wheels > 2 // some\n',
  ])
})

test('knows the model of the folder: its faults, its names, its definitions, and its layout', async () => {
  const modelUri = pathToFileURL(join(folder, 'model.gql')).href
  const define = 'DEFINE (p:Person)-[:may_drive]->(c:Car) AS {'
  const open = `${define}\n  MATCH (p)-[:OWNS]->(c) WHERE NOT (p)-[:may_drive]->(c)\n}\n`
  await client.sendNotification(DidOpenTextDocumentNotification.type, {
    textDocument: { uri: modelUri, languageId: 'gql', version: 1, text: open },
  })
  const faults = await diagnostics(modelUri, ({ diagnostics: found }) => found.length > 0)
  expect(faults.map(({ code, severity, range }) => [code, severity, range.start])).toEqual([
    ['invalid-model', 1, { line: 1, character: 41 }],
  ])
  published.length = 0
  const text = `${define}\n  match (p)-[:OWNS]->(c)\n}\n`
  await client.sendNotification(DidChangeTextDocumentNotification.type, {
    textDocument: { uri: modelUri, version: 2 },
    contentChanges: [{ text }],
  })
  expect(await diagnostics(modelUri, ({ diagnostics: found }) => found.length === 0)).toEqual([])
  const edits = await client.sendRequest(DocumentFormattingRequest.type, {
    textDocument: { uri: modelUri },
    options: { tabSize: 2, insertSpaces: true },
  })
  expect(edits?.map(({ newText }) => newText)).toEqual([`${define} MATCH (p)-[:OWNS]->(c) }\n`])
  expect((await completions('MATCH (subject)-[:|')).sort()).toEqual(['OWNS', 'may_drive'])
  await change(`${head}  MATCH (subject)-[:may_drive]->(resource)\n`)
  const position = { line: 4, character: 22 }
  const hover = await client.sendRequest(HoverRequest.type, { textDocument: { uri }, position })
  expect((hover!.contents as { value: string }).value).toContain(`definition of the model\n\n\`\`\`text\n${define}`)
  expect(await diagnostics(uri, ({ diagnostics: found }) => found.length === 0)).toEqual([])
  // Declared names are offered before data has them.
  const types = '(:Person {birthday DATE}), (:Car {wheels INTEGER}), (:Van), (:Person)-[:OWNS|DRIVES]->(:Car|Van)\n'
  await client.sendNotification(DidChangeTextDocumentNotification.type, {
    textDocument: { uri: modelUri, version: 3 },
    contentChanges: [{ text: `${types}${text}` }],
  })
  expect(await completions('MATCH (subject:|')).toEqual(expect.arrayContaining(['Person', 'Van']))
  expect(await completions('MATCH (subject)-[:|')).toEqual(expect.arrayContaining(['DRIVES', 'OWNS', 'may_drive']))
  expect(await completions('MATCH (subject) WHERE subject.|')).toEqual(expect.arrayContaining(['birthday', 'wheels']))
  await client.sendNotification(DidChangeTextDocumentNotification.type, {
    textDocument: { uri: modelUri, version: 4 },
    contentChanges: [{ text }],
  })
})

test('completes, shows and formats patterns and clauses of GQL', async () => {
  expect((await completions('MATCH (subject) ((a:|')).sort()).toEqual(['Car', 'Fast', 'Person'])
  expect(await completions('WHEN true THEN { |')).toEqual(expect.arrayContaining(['MATCH', 'subject']))
  expect(await completions('MATCH (subject)-[:OWNS]->{1,|')).toEqual([])
  expect(await completions('MATCH (subject)-->(resource) WHERE resource.wheels IS :: |')).toEqual(
    expect.arrayContaining(['INTEGER', 'STRING']),
  )
  const pattern = 'MATCH (subject) ((a)-[:OWNS]->(b:Car)){1,2} (resource)'
  await change(`${head}  ${pattern}\n`)
  const at = { textDocument: { uri }, position: { line: 4, character: 2 + pattern.indexOf('Car') } }
  const quantified = (await client.sendRequest(HoverRequest.type, at))!.contents as { value: string }
  expect(quantified.value).toContain('label `Car`: in the data')
  expect(quantified.value).toMatch(/Plan of a decision\n\n```text\n[\s\S]*OWNS[\s\S]*\{1,2\}|\*1\.\.2/)
  await change(
    `${head}  match (subject), (resource) return subject, resource next when subject.wheels>2 then { match (subject)-[:OWNS]->(resource) return subject, resource }\n`,
  )
  const branches = (await client.sendRequest(HoverRequest.type, {
    textDocument: { uri },
    position: { line: 4, character: 4 },
  }))!.contents as { value: string }
  expect(branches.value).toContain('branch of WHEN = 1')
  const edits = await client.sendRequest(DocumentFormattingRequest.type, {
    textDocument: { uri },
    options: { tabSize: 2, insertSpaces: true },
  })
  expect(edits?.map(({ newText }) => newText)).toEqual([
    '|\n  MATCH (subject), (resource)\n  RETURN subject, resource\n  NEXT\n  WHEN subject.wheels > 2 THEN {\n    MATCH (subject)-[:OWNS]->(resource)\n    RETURN subject, resource\n  }\n',
  ])
  await change(`${head}  WHEN true THEN { MATCH (subject)-[:OWNS]->(resource) RETURN subject }\n`)
  const refused = await diagnostics(uri, ({ diagnostics: found }) => found.some(({ severity }) => severity === 1))
  expect(refused.map(({ message }) => message)).toEqual([expect.stringContaining('does not return `resource`')])
})

test('ends when the editor asks for it', async () => {
  await client.sendRequest(ShutdownRequest.type)
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await client.sendNotification(ExitNotification.type)
  expect(await ended).toBe(0)
})
