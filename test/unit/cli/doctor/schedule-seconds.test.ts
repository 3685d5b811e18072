// A schedule of six fields begins with seconds, which is easily meant otherwise.
import { expect, test } from 'vitest'
import { checkSettings } from '../../../../src/cli/doctor/doctor-checks.ts'
import { defaultSettings } from '../../../../src/settings.ts'

test.each(['backupSchedule', 'drillSchedule'] as const)('doctor warns about seconds in %s', (member) => {
  const found = (pattern: string) =>
    checkSettings({ ...defaultSettings, [member]: pattern }).filter(({ found }) => found.includes('seconds'))
  expect(found('30 2 * * * *')).toMatchObject([{ status: 'warning' }])
  for (const pattern of ['', '30 2 * * *', '@daily']) expect(found(pattern)).toEqual([])
})
