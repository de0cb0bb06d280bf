// Replaces the displayed state of a run with each update from the server. Sections that the reader expanded stay expanded.
"use strict";
const place = document.getElementById("state");
const lost = document.getElementById("lost");
const events = new EventSource(place.dataset.events);
events.addEventListener("state", (event) => {
  const open = [...place.querySelectorAll("details[open][id]")].map((fold) => fold.id);
  place.innerHTML = event.data;
  for (const id of open) {
    document.getElementById(id)?.setAttribute("open", "");
  }
  lost.textContent = "";
});
events.addEventListener("over", () => {
  events.close();
  location.reload();
});
events.onerror = () => {
  lost.textContent = "The server does not respond. This is the last known state.";
};
