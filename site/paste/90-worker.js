// The worker's side: rules first, then logs.
let ready = null;
self.onmessage = async ({ data }) => {
  try {
    if (data.rules) {
      ready = prepare(data.rules);
      return;
    }
    const started = performance.now();
    const answer = await diagnose(data.source, ready, {
      name: data.name,
      hung: data.hung,
      progress: (share) => self.postMessage({ id: data.id, progress: share }),
    });
    self.postMessage({ id: data.id, answer, milliseconds: performance.now() - started });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error) });
  }
};
