// Asks the questions of peers' own suites, with definitions that the product's readers write for their models, and compares the answers
// and the lengths of the texts with the baseline.
// npm run test:peers [-- --only=TEXT] [-- --write-baseline]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { askCase, type PeerVerdict } from './ask-case.ts'
import { againstBaseline, readBaseline, writeBaseline } from './baseline.ts'
import { moduleFolder } from './module-folder.ts'
import { readMatrix } from './openfga-matrix.ts'
import type { PeerCase } from './peer-case.ts'
import { readConfigurations } from './spicedb-configs.ts'
import { quantile, sizeQuotients } from './text-sizes.ts'

/** The text of a model here against the text there, over the models of the suites. */
const MEDIAN_MAX = 1.2
const P90_MAX = 2

const { values } = parseArgs({ options: { only: { type: 'string' }, 'write-baseline': { type: 'boolean' } } })

const openFga = join(moduleFolder('github.com/openfga/openfga', 'v1.22.1'), 'assets/tests')
const spiceDb = moduleFolder('github.com/authzed/spicedb', 'v1.56.0')
const suites: Readonly<Record<string, readonly PeerCase[]>> = {
  'OpenFGA, matrix': readMatrix(join(openFga, 'consolidated_1_1_tests.yaml')),
  'OpenFGA, conditions': readMatrix(join(openFga, 'abac_tests.yaml')),
  SpiceDB: readConfigurations(join(spiceDb, 'internal/services/integrationtesting/testconfigs')),
}

const verdicts = new Map<string, readonly PeerVerdict[]>()
for (const [suite, cases] of Object.entries(suites)) {
  const found: PeerVerdict[] = []
  for (const one of cases)
    if (values.only === undefined || one.id.includes(values.only)) found.push(...(await askCase(one)))
  verdicts.set(suite, found)
}

if (values.only !== undefined) {
  for (const { id, why } of [...verdicts.values()].flat())
    console.log(`${why === null ? 'same ' : 'OTHER'} ${id}${why === null ? '' : `: ${why}`}`)
  process.exit()
}
if (values['write-baseline']) writeBaseline(verdicts)

const baseline = readBaseline()
let passed = 0
const faults: string[] = []
for (const [suite, all] of verdicts) {
  const lines = againstBaseline(suite, all, baseline)
  const same = all.filter(({ why }) => why === null).length
  console.log(`${suite}: ${all.length} questions, ${same} answered as the peer does, ${all.length - same} differ`)
  passed += same
  faults.push(...lines)
}
const quotients = sizeQuotients(Object.values(suites).flat())
const [median, p90] = [quantile(quotients, 0.5), quantile(quotients, 0.9)]
console.log(
  `text of the model here : there, ${quotients.length} models: median ${median.toFixed(2)}, p90 ${p90.toFixed(2)}`,
)
if (median > MEDIAN_MAX || p90 > P90_MAX)
  faults.push(`the texts are longer than ${MEDIAN_MAX} (median), ${P90_MAX} (p90) times the originals`)
for (const line of faults) console.log(`FAIL ${line}`)
console.log(`${passed} passed, ${faults.length} failed`)
process.exitCode = faults.length === 0 ? 0 : 1
