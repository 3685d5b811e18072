// Reads names of folders from standard input, one a line. Of each: asks the questions of damage-fixture.ts, then writes, and asks for what
// it wrote. Prints the answers as one line of JSON.
import { createInterface } from 'node:readline'
import { Graph } from '../../src/engine/graph.ts'
import { openStore } from '../../src/store/graph/open-store.ts'
import { ask, faultText } from './damage-fixture.ts'

const NODES = 400

/** Takes pages of the free list, and changes lists on old pages. */
async function write(folder: string): Promise<unknown> {
  const store = openStore(folder, { sync: false })
  try {
    const graph = new Graph(store)
    await graph.write((batch) => {
      for (let i = 0; i < NODES; i++) batch.upsertNode({ type: 'Person', externalId: `new-${i}` })
      for (let i = 0; i < NODES; i += 7) {
        const source = { type: 'Person', externalId: `person-${i * 3}` }
        batch.upsertRelationship({ source, type: 'FOLLOWS', target: { type: 'Person', externalId: `new-${i}` } })
        batch.deleteNode({ type: 'Document', externalId: `document-${i}` })
      }
    })
    const follows = graph.prepare('MATCH (subject:Person)-[:FOLLOWS]->(resource:Person)')
    const found = (i: number) =>
      follows.exists({ subject: ['Person', `person-${i * 3}`], resource: ['Person', `new-${i}`] })
    return [found(0), found(7), found(14), found(15)]
  } finally {
    await store.close()
  }
}

const step = Number(process.argv[2])
for await (const folder of createInterface({ input: process.stdin })) {
  const answers: Record<string, string> = {}
  await ask(folder, step, (question, answer) => {
    answers[question] = answer
  })
  try {
    answers.write = JSON.stringify(await write(folder))
  } catch (fault) {
    answers.write = faultText(fault)
  }
  process.stdout.write(`${JSON.stringify(answers)}\n`)
}
