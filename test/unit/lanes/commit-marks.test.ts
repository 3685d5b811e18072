import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CommitMarks, openCommitMarks } from '../../../src/lanes/commit-marks.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

describe('the marks of a lane', () => {
  test('are seen by the serving process, and are not set when they are taken again', () => {
    const socket = join(temporaryFolder(), '1000.sock')
    const marks = new CommitMarks(socket)
    const set = openCommitMarks(socket)
    const [first, second] = [marks.take(), marks.take()]
    set(second)
    expect([marks.isSet(first), marks.isSet(second)]).toEqual([false, true])
    marks.release(second)
    expect([marks.take(), marks.isSet(second)]).toEqual([second, false])
  })

  test('of a lane that is replaced are not those of its successor', () => {
    const socket = join(temporaryFolder(), '1000.sock')
    const before = new CommitMarks(socket)
    const set = openCommitMarks(socket)
    const after = new CommitMarks(socket)
    const mark = before.take()
    expect(after.take()).toBe(mark)
    set(mark)
    expect([before.isSet(mark), after.isSet(mark)]).toEqual([true, false])
  })

  test('that cannot be stored, or are too many, count as set', () => {
    const folder = temporaryFolder()
    const full = new CommitMarks(join(folder, 'missing', '1000.sock'))
    openCommitMarks(join(folder, 'missing', '1000.sock'))(0)
    expect(full.isSet(full.take())).toBe(true)
    mkdirSync(join(folder, 'missing'))
    const marks = new CommitMarks(join(folder, 'missing', '1000.sock'))
    const taken = Array.from({ length: 4097 }, () => marks.take())
    expect(taken.map((mark) => marks.isSet(mark)).lastIndexOf(false)).toBe(4095)
    expect(marks.isSet(taken.at(-1) as number)).toBe(true)
  })
})
