import { mkdtempSync, rmSync } from 'node:fs'
import { captureNodes } from '../../src/capture/nodes.ts'
import { randomFrom } from '../harness.ts'
import { openEventBench } from './service.ts'

const folder = mkdtempSync('/tmp/evperf/p-')
const project = await openEventBench(folder)
const random = randomFrom(1)
const node = (at: number) => ({
  type: 'Document',
  external_id: `document-${at}`,
  properties: [
    { type: 'title', value: `title ${random(1_000_000)}` },
    { type: 'size', value: random(1_000_000) },
    { type: 'tier', value: 'gold' },
  ],
})
const drawn = () => {
  const s = new Set<number>()
  while (s.size < 500) s.add(random(20000))
  return Array.from(s, node)
}
const cap = async (nodes: any) => {
  const r = await captureNodes(project.app.capture, { caller: project.caller, requestId: 'bench' }, { nodes })
  if (!r.ok) throw new Error('x')
}
await cap(Array.from({ length: 20000 }, (_, at) => node(at)))
const which = process.argv[2]
await project.setSink(
  which === 'cdc'
    ? { routes: [{ type: 'svc.audit.cdc.*' }], hasChanges: true }
    : which === 'match'
      ? { routes: [{ type: 'svc.audit.capture.*' }] }
      : null,
)
const t = performance.now()
for (let i = 0; i < 120; i++) await cap(drawn())
console.log(which, (((performance.now() - t) * 1000) / 60000).toFixed(2), 'us/node')
await project.app.close()
rmSync(folder, { recursive: true, force: true })
