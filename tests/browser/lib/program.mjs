// A program that the server calls: it keeps what it gets, and answers.
import { createServer } from 'node:http'

/** `answer` gets a request's JSON, and gives the answer's; nothing for 204. `got` is what came, with the request's `webhook-id`. */
export async function program(t, answer = () => undefined) {
  const got = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', chunk => { text += chunk })
    request.on('end', () => {
      const call = JSON.parse(text)
      got.push({ id: request.headers['webhook-id'], ...call })
      const answered = answer(call)
      response.writeHead(answered ? 200 : 204, { 'Content-Type': 'application/json' }).end(answered && JSON.stringify(answered))
    })
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${server.address().port}/`, got }
}
