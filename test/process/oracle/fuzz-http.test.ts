import { describe, expect, it } from 'vitest'
import { testSeed } from '../../generate/random.ts'
import { fuzzHttp } from '../../support/http-fuzz.ts'

const seed = testSeed()

describe(`requests made from the description (VERDIGRAPH_SEED=${seed})`, () => {
  it('get responses that it describes, no internal error, and no secret in them or in the log', async () => {
    const report = await fuzzHttp(seed, 400)
    expect(report.findings).toEqual([])
    expect(report.asked).toBeGreaterThan(300)
    expect(report.logLines).toBeGreaterThanOrEqual(report.asked)
    expect(report.secrets).toBeGreaterThan(3)
  })
})
