// Whether a request comes from a page of this service.

/** True if the header `Origin` names the host of the request or of `publicUrl`, which may be empty. False if the header is absent. */
export function isOwnOrigin(request: { header(name: string): string | null }, publicUrl: string): boolean {
  const origin = request.header('origin')
  if (origin === null || !URL.canParse(origin)) return false
  if (publicUrl !== '' && origin === new URL(publicUrl).origin) return true
  // A proxy may terminate TLS, so only the hosts are compared.
  return new URL(origin).host === request.header('host')?.toLowerCase()
}
