// Prints the events of a Kafka topic. Checks each payload against the schema of its event type.
//   npm run reference
//   KAFKA=localhost:9092 TOPIC=events npx bun examples/kafka-consumer/consumer.mjs
import { readFileSync } from 'node:fs'
import { Consumer } from '@platformatic/kafka'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const { messages } = JSON.parse(
  readFileSync(new URL('../../dist/reference/events.asyncapi.json', import.meta.url), 'utf8'),
).components
const ajv = formats(new Ajv2020({ strict: false }))
const validators = new Map(Object.entries(messages).map(([type, { payload }]) => [type, ajv.compile(payload)]))

const consumer = new Consumer({
  groupId: 'example',
  clientId: 'example',
  bootstrapBrokers: [process.env.KAFKA ?? 'localhost:9092'],
})
const stream = await consumer.consume({
  topics: [process.env.TOPIC ?? 'events'],
  mode: 'committed',
  fallbackMode: 'earliest',
  autocommit: false,
})
for await (const message of stream) {
  const headers = Object.fromEntries([...message.headers].map(([name, value]) => [name.toString(), value.toString()]))
  const data = JSON.parse(message.value.toString())
  const isValid = validators.get(headers.ce_type)
  const note = isValid === undefined ? 'unknown type' : isValid(data) ? 'valid' : ajv.errorsText(isValid.errors)
  // An event may arrive twice: a consumer that must not act twice remembers source and sequence.
  console.log([headers.ce_source, Number(headers.ce_sequence), headers.ce_type, headers.ce_subject, note].join(' '))
  await message.commit()
}
