// ECDSA signatures: from the form of JOSE, r and s of 32 bytes each (RFC 7518, section 3.4), to DER (RFC 3279, section 2.2.3).

const INTEGER_BYTES = 32
const DER_INTEGER = 0x02
const DER_SEQUENCE = 0x30

/** The signature in DER; null if it does not have 64 bytes. */
export function derSignature(raw: Uint8Array): Uint8Array | null {
  if (raw.byteLength !== 2 * INTEGER_BYTES) return null
  const body = Buffer.concat([derInteger(raw.subarray(0, INTEGER_BYTES)), derInteger(raw.subarray(INTEGER_BYTES))])
  return Buffer.concat([Buffer.from([DER_SEQUENCE, body.byteLength]), body])
}

/** The shortest form of a positive integer. */
function derInteger(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.byteLength - 1 && bytes[start] === 0) start++
  const digits = bytes.subarray(start)
  // The first bit is the sign.
  const value = (digits[0] as number) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits
  return Buffer.concat([Buffer.from([DER_INTEGER, value.byteLength]), value])
}
