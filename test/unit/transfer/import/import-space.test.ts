import { expect, test } from 'vitest'
import { missingSpaceMessage } from '../../../../src/transfer/import/import.ts'

test('an import names the space that it needs if the disk has less', () => {
  expect(missingSpaceMessage('lines', 5 * 2 ** 20, 5 * 2 ** 20)).toBeNull()
  expect(missingSpaceMessage('lines', 5 * 2 ** 20, 2 ** 20)).toBe(
    'not enough disk space: importing lines needs about 5 MiB, 1 MiB are free',
  )
})
