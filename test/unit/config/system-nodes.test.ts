import { afterAll, expect, test } from 'vitest'
import { createSystemGraph } from '../../../src/config/system-nodes.ts'
import { createChunk } from '../../../src/engine/store.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { removeTemporaryFolders, START_MS, temporaryFolder } from '../../support/configuration-fixture.ts'
import { ManualClock } from '../../support/manual-clock.ts'

afterAll(removeTemporaryFolders)

const project = 'gid:01KF0000000000000000000000'

test('an agent is a node connected to the node of its application, however often it is written', async () => {
  const catalog = openCatalog(temporaryFolder(), { clock: new ManualClock(START_MS), sync: false })
  await catalog.create(project)
  const graph = catalog.graph(project, 'default')
  if (graph === null) throw new Error('no graph')
  let configured = true
  const nodes = createSystemGraph(
    () => graph,
    () => configured,
  )
  for (let round = 0; round < 2; round++) {
    await nodes.putApplication(project, 'app')
    await nodes.putAgent(project, 'app', 'agent')
  }
  const count = () => {
    const snapshot = graph.snapshot()
    const [application, agent, type] = [
      snapshot.findNode(snapshot.symbol('label', '_Application'), 'app'),
      snapshot.findNode(snapshot.symbol('label', '_AppAgent'), 'agent'),
      snapshot.symbol('type', '_AGENT_OF'),
    ]
    const between = createChunk()
    if (agent > 0 && application > 0) snapshot.relationshipsBetween(agent, type, application, between)
    const counted = {
      nodes: snapshot.nodeCount(null),
      agent: agent > 0,
      application: application > 0,
      links: between.length,
    }
    snapshot.close()
    return counted
  }
  expect(count()).toEqual({ nodes: 2, agent: true, application: true, links: 1 })
  await nodes.deleteAgent(project, 'agent')
  expect(count()).toEqual({ nodes: 1, agent: false, application: true, links: 0 })
  await nodes.deleteApplication(project, 'app')
  await nodes.deleteApplication(project, 'app')
  expect(count()).toEqual({ nodes: 0, agent: false, application: false, links: 0 })
  // Another process deleted both between the commit of their creation and the write that follows from it.
  configured = false
  await nodes.putApplication(project, 'app')
  await nodes.putAgent(project, 'app', 'agent')
  expect(count()).toEqual({ nodes: 0, agent: false, application: false, links: 0 })
  await catalog.close()
})
