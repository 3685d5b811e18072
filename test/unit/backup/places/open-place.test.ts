// Addresses of places, and the variables of the environment that describe an S3-compatible server.
import { expect, test } from 'vitest'
import { openPlace, s3AccessOf } from '../../../../src/backup/places/open-place.ts'
import { placeAddressProblem } from '../../../../src/backup/places/place-address.ts'

const keys = { AWS_ACCESS_KEY_ID: 'AKIATEST', AWS_SECRET_ACCESS_KEY: 'secret-of-the-test' }

test.each([
  ['s3://backups', 's3://backups'],
  ['s3://backups/one/two/', 's3://backups/one/two'],
  ['file:///var/backups', 'file:///var/backups'],
  ['/var/backups', 'file:///var/backups'],
])('opens %s', (address, opened) => {
  expect(openPlace(address, s3AccessOf(keys)).address).toBe(opened)
})

test.each([
  ['', 'is empty'],
  ['s3:/backups', 'neither a folder nor'],
  ['S3://backups', 'neither a folder nor'],
  ['gs:backups', 'as `./NAME`'],
  ['s3://', 'not a name of a bucket'],
  ['s3://Upper/x', 'not a name of a bucket'],
  ['s3://backups/../other', 'is not a prefix'],
  ['s3://backups/a b', 'is not a prefix'],
  ['s3://key:secret-of-the-test@backups/x', 'without credentials'],
  ['s3://backups/x?secret-of-the-test', 'without credentials'],
  ['https://backups.example.org/secret-of-the-test', 'neither a folder nor'],
])('refuses %s', (address, problem) => {
  expect(placeAddressProblem(address)).toContain(problem)
  expect(() => openPlace(address, s3AccessOf(keys))).toThrow(problem)
  expect(placeAddressProblem(address)).not.toContain('secret-of-the-test')
})

test('an S3-compatible server needs an access key', () => {
  expect(s3AccessOf({ AWS_ACCESS_KEY_ID: 'AKIATEST' })).toBeNull()
  expect(() => openPlace('s3://backups', null)).toThrow('AWS_SECRET_ACCESS_KEY')
})

test('region, endpoint and session token come from the usual variables', () => {
  expect(s3AccessOf(keys)).toMatchObject({ region: 'us-east-1' })
  const all = {
    ...keys,
    AWS_DEFAULT_REGION: 'eu-west-1',
    AWS_ENDPOINT_URL: 'http://localhost:1',
    AWS_SESSION_TOKEN: 't',
  }
  expect(s3AccessOf(all)).toMatchObject({ region: 'eu-west-1', endpoint: 'http://localhost:1', sessionToken: 't' })
  const special = { ...all, AWS_REGION: 'eu-north-1', AWS_ENDPOINT_URL_S3: 'http://localhost:2' }
  expect(s3AccessOf(special)).toMatchObject({ region: 'eu-north-1', endpoint: 'http://localhost:2' })
  expect(() => s3AccessOf({ ...keys, AWS_ENDPOINT_URL: 'ftp://x' })).toThrow('AWS_ENDPOINT_URL_S3')
  expect(() => s3AccessOf({ ...keys, AWS_REGION: 'a/b' })).toThrow('AWS_REGION')
})
