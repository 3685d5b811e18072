// Connection strings of queue services: what they mean, and that an error never quotes them.
import { describe, expect, it } from 'vitest'
import { parseConnectionString, secretsOf } from '../../../../src/events/providers/connection-string.ts'

const key = 'c2VjcmV0IG9mIHRoZSBxdWV1ZSA9PT0='

describe('a connection string', () => {
  it('with a shared key is for port 5671 over TLS', () => {
    const text = `Endpoint=sb://Queues.Example/;SharedAccessKeyName=send;SharedAccessKey=${key};EntityPath=orders/in`
    expect(parseConnectionString(text)).toEqual({
      ok: true,
      value: {
        host: 'queues.example',
        port: 5671,
        authority: 'queues.example',
        isSecure: true,
        login: { kind: 'shared-key', name: 'send', key },
        entityPath: 'orders/in',
      },
    })
  })

  it.each([
    [`endpoint = sb://h:1234 ; sharedaccesskeyname=n;SHAREDACCESSKEY=${key};`, 'h', 1234, true],
    [`Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=${key};UseDevelopmentEmulator=true`, 'h', 5672, false],
    [`Endpoint=https://h/;SharedAccessKeyName=n;SharedAccessKey=${key};TransportType=Amqp`, 'h', 5671, true],
    [`Endpoint=sb://[2001:DB8::1]/;SharedAccessKeyName=n;SharedAccessKey=${key}`, '2001:db8::1', 5671, true],
    ['amqps://Host', 'host', 5671, true],
    ['amqp://host:1', 'host', 1, false],
    [' AMQPS://u:p@[::1]:9/ ', '::1', 9, true],
  ])('%s is for %s:%i', (text, host, port, isSecure) => {
    expect(parseConnectionString(text)).toMatchObject({ ok: true, value: { host, port, isSecure } })
  })

  it('has the user and password of a URL decoded, and a token as it is', () => {
    expect(parseConnectionString('amqps://us%40er:p%3A%2F%3B@h')).toMatchObject({
      value: { login: { kind: 'password', username: 'us@er', password: 'p:/;' } },
    })
    const token = 'SharedAccessSignature sr=a&sig=b%3D&se=1&skn=n'
    expect(parseConnectionString(`Endpoint=sb://h;SharedAccessSignature=${token}`)).toMatchObject({
      value: { login: { kind: 'token', token } },
    })
  })

  it.each([
    ['', 'expected a part `Endpoint=sb://…`, or an AMQP URL'],
    ['secret', 'expected `Name=value` parts separated by `;`, or an AMQP URL'],
    [`SharedAccessKeyName=n;SharedAccessKey=${key}`, 'expected a part `Endpoint=sb://…`, or an AMQP URL'],
    [`Endpoint=ftp://h/;SharedAccessKeyName=n;SharedAccessKey=${key}`, 'Endpoint: expected `sb://host/`'],
    [`Endpoint=sb://u:${key}@h/;SharedAccessKeyName=n;SharedAccessKey=${key}`, 'Endpoint: expected `sb://host/`'],
    [
      `Endpoint=sb://h/;SharedAccessKey=${key}`,
      'expected SharedAccessKeyName and SharedAccessKey, or SharedAccessSignature',
    ],
    ['amqps://', 'expected `amqps://user:password@host:port`'],
    ['amqps://u:secret@h/vhost', 'expected an AMQP URL without path, query and fragment'],
    ['amqps://u:secret@h?x=1', 'expected an AMQP URL without path, query and fragment'],
    ['amqps://u@h', 'expected both a user and a password'],
    ['amqps://u:%E0@h', 'expected user and password in percent encoding'],
  ])('%j is refused', (text, error) => {
    expect(parseConnectionString(text)).toEqual({ ok: false, error })
  })

  it('names its secrets, all of it if it cannot be parsed', () => {
    const text = 'amqps://u:p%3Aq@h'
    expect(secretsOf(text)).toEqual([text, 'p:q'])
    expect(secretsOf('half of a secret')).toEqual(['half of a secret'])
    expect(secretsOf('amqps://h')).toEqual([])
  })
})
