// Writes nodes of new types to the given folder, printing a line for each acknowledged one, until it is killed.
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'

const environment = openEnvironment(process.argv[2]!, { clock: systemClock })
for (let number = 0; ; number++) {
  await environment.write((batch) => {
    batch.upsertNode({
      type: `Theirs_${number}`,
      externalId: `${number}`,
      properties: [{ name: `p${number}`, value: number }],
    })
  })
  process.stdout.write(`${number}\n`)
}
