// A folder as a place of backups: complete objects only, hostile names, and what a killed writer leaves.
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FolderPlace } from '../../../../src/backup/places/folder-place.ts'
import type { BackupPlace } from '../../../../src/backup/places/place.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

async function namesIn(place: BackupPlace, prefix = ''): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of place.list(prefix)) names.push(name)
  return names.sort()
}

function streamOf(...chunks: readonly (string | Error)[]): ReadableStream<Uint8Array> {
  const rest = [...chunks]
  return new ReadableStream({
    pull(controller) {
      const next = rest.shift()
      if (next === undefined) controller.close()
      else if (next instanceof Error) controller.error(next)
      else controller.enqueue(new TextEncoder().encode(next))
    },
  })
}

test('objects are stored, read, listed by prefix, replaced and removed', async () => {
  const folder = temporaryFolder()
  const place = new FolderPlace(join(folder, 'new', 'place'))
  expect(await namesIn(place)).toEqual([])
  await place.put('one.txt', streamOf('a', 'b'))
  await place.put('log/1.txt', new TextEncoder().encode('first'))
  await place.put('log/2.txt', streamOf('second'))
  await place.put('one.txt', streamOf('c'))
  expect(await new Response(await place.get('one.txt')).text()).toBe('c')
  expect(await namesIn(place)).toEqual(['log/1.txt', 'log/2.txt', 'one.txt'])
  expect(await namesIn(place, 'log/')).toEqual(['log/1.txt', 'log/2.txt'])
  expect(await namesIn(place, 'lo')).toEqual(['log/1.txt', 'log/2.txt'])
  expect(await namesIn(place, 'x')).toEqual([])
  await place.remove('log/1.txt')
  await place.remove('log/1.txt')
  expect(await namesIn(place, 'log/')).toEqual(['log/2.txt'])
})

test('a body that fails leaves nothing, and the object of the same name stays', async () => {
  const folder = temporaryFolder()
  const place = new FolderPlace(folder)
  await place.put('one.txt', streamOf('kept'))
  await expect(place.put('one.txt', streamOf('lost', new Error('the source failed')))).rejects.toThrow(
    'the source failed',
  )
  expect(await new Response(await place.get('one.txt')).text()).toBe('kept')
  expect(readdirSync(folder)).toEqual(['one.txt'])
})

test('a body that fails leaves no folder that was created for it, and all that existed', async () => {
  const folder = temporaryFolder()
  const fail = (place: BackupPlace, name: string) =>
    expect(place.put(name, streamOf('lost', new Error('the source failed')))).rejects.toThrow('the source failed')
  await fail(new FolderPlace(join(folder, 'new', 'place')), 'log/a/1.txt')
  expect(readdirSync(folder)).toEqual([])
  const place = new FolderPlace(folder)
  await fail(place, 'log/a/1.txt')
  expect(readdirSync(folder)).toEqual([])
  mkdirSync(join(folder, 'log'))
  await fail(place, 'log/a/1.txt')
  expect(readdirSync(folder, { recursive: true })).toEqual(['log'])
  // The rename fails, because the object has the name of a folder.
  mkdirSync(join(folder, 'taken', 'x'), { recursive: true })
  await expect(place.put('taken', streamOf('x'))).rejects.toThrow(/taken/)
  expect(readdirSync(folder, { recursive: true }).sort()).toEqual(['log', 'taken', join('taken', 'x')])
})

test('names that leave the folder or are hidden are neither written nor listed', async () => {
  const folder = temporaryFolder()
  const place = new FolderPlace(join(folder, 'place'))
  for (const name of ['../out.txt', '/out.txt', '.hidden', 'a/../../out.txt', 'a//b', '', 'a\nb', 'a b'])
    await expect(place.put(name, streamOf('x'))).rejects.toThrow('not a name of an object')
  mkdirSync(join(folder, 'place'))
  for (const name of ['.hidden', 'a b', 'a\nb', 'kept']) writeFileSync(join(folder, 'place', name), 'x')
  symlinkSync('/etc/passwd', join(folder, 'place', 'link'))
  expect(await namesIn(place)).toEqual(['kept'])
  expect(readdirSync(folder)).toEqual(['place'])
})

test('an object that does not exist is `absent`', async () => {
  const place = new FolderPlace(temporaryFolder())
  await expect(place.get('none')).rejects.toMatchObject({ reason: 'absent' })
})

test('the staging folder of a killed writer is removed, and one that is being written is kept', async () => {
  const folder = temporaryFolder()
  const place = new FolderPlace(folder)
  const abandoned = join(folder, '.verdigraph-writing-AbCdEf')
  mkdirSync(abandoned)
  writeFileSync(join(abandoned, 'object'), 'half')
  writeFileSync(join(abandoned, 'staging.lock'), '')
  let finish = (): void => undefined
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('x'))
      finish = () => controller.close()
    },
  })
  const writing = place.put('slow.txt', body)
  await expect.poll(() => readdirSync(folder).length).toBe(1)
  expect(existsSync(abandoned)).toBe(false)
  expect(await namesIn(place)).toEqual([])
  expect(await place.removeIncomplete()).toBe(0)
  finish()
  await writing
  expect(await namesIn(place)).toEqual(['slow.txt'])
})
