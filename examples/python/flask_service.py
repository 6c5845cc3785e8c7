"""A web service that shows one of three banners and is told of clicks: one client for all threads of the server, whose
requests at the same moment share messages.

    COPPICE_ENDPOINT=tcp://127.0.0.1:5590 flask --app flask_service run

A model `banners` { arms = 3  features = 2 }. GET /banner?hour=17&mobile=1 answers {"banner", "id"}; POST /click/ID tells
that it was clicked. Banners that are never clicked need a `default_loss` of the model."""

import os

import coppice
from flask import Flask, jsonify, request

app = Flask(__name__)
client = coppice.Client(os.environ.get("COPPICE_ENDPOINT", "tcp://127.0.0.1:5590"), timeout=2.0)


@app.get("/banner")
def banner():
    hour = request.args.get("hour", 12, type=float)
    mobile = request.args.get("mobile", 0, type=float)
    try:
        action = client.decide("banners", [hour / 24, mobile])
    except coppice.Timeout:
        return jsonify(banner=0, id=None)  # the page is shown all the same
    return jsonify(banner=action.a, id=action.id)


@app.post("/click/<id>")
def click(id):
    return jsonify(result=client.reward("banners", id, 1.0).result)


@app.errorhandler(coppice.CoppiceError)
def failed(error):
    return jsonify(error=str(error)), 503
